#!/bin/sh
# A corpus of small sound files with metadata, by the programs that people make them with.
#   metadata_corpus.sh SCRIPT     metadata_files.py; in.EXTENSION in the working folder
set -eu
python3 -S "$1" make wav in.wav make rf64 in.rf64 make w64 in.w64 make aiff in.aiff make caf in.caf
ffmpeg -v error -f lavfi -i color=red:s=4x4:d=1 -frames:v 1 -y cover.png
ffmpeg -v error -f lavfi -i sine=440:r=48000:d=0.3 -ac 2 -c:a pcm_s16le -y plain.wav
flac -s -f --keep-foreign-metadata in.wav -o foreign.flac
flac -s -f --picture=cover.png --tag=TITLE="A title" --tag=ARTIST=one --tag=ARTIST=two \
    --tag=MYTAG="my value" --tag=REPLAYGAIN_TRACK_GAIN="-3 dB" plain.wav -o in.flac
oggenc -Q plain.wav -o in.ogg
printf 'TITLE=A title\nARTIST=one\nARTIST=two\nMYTAG=my value\nREPLAYGAIN_TRACK_GAIN=-3 dB\n' |
    vorbiscomment -w in.ogg
opusenc --quiet plain.wav in.opus --title "A title" --artist one --artist two \
    --comment MYTAG="my value" --comment R128_TRACK_GAIN=100 --picture cover.png
lame --quiet --add-id3v2 --tt "A title" --ta one --tv TXXX=MYTAG="my value" --ti cover.png \
    plain.wav in.mp3
