"""Sends a command to halo live --web: web_client.py LINK gain -6"""
import base64, json, os, socket, sys
from urllib.parse import urlsplit

link = urlsplit(sys.argv[1])
wire = socket.create_connection((link.hostname, link.port)).makefile("rwb")
key = base64.b64encode(os.urandom(16)).decode()
wire.write(f"GET /live HTTP/1.1\r\nHost: {link.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
           f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
           f"Cookie: halo_{link.port}={link.fragment}\r\n\r\n".encode())
arguments = [float(word) if word.lstrip("-").replace(".", "").isdigit() else word for word in sys.argv[3:]]
message = json.dumps({"id": 1, "do": sys.argv[2], "with": arguments}).encode()
head = bytes([0x80 | len(message)]) if len(message) < 126 else b"\xfe" + len(message).to_bytes(2, "big")
wire.write(b"\x81" + head + bytes(4) + message)  # the mask is four zeros
wire.flush()
while wire.readline().strip():  # the answer's headers
    pass
while True:
    size = wire.read(2)[1]
    size = int.from_bytes(wire.read({126: 2, 127: 8}[size]), "big") if size > 125 else size
    event = json.loads(wire.read(size))
    if event["event"] == "answer":
        sys.exit(event["error"])
