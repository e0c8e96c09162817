#!/bin/sh
# Runs a Python script by a python3 that has numpy: the system's, which has the system's packages,
# before another one of that name. 77 (skipped) where there is none.
#   with_numpy.sh SCRIPT ARGUMENT...
for python in /usr/bin/python3 python3; do
    "$python" -c 'import numpy' 2>/dev/null && exec "$python" "$@"
done
echo "skipped: no python3 here has numpy"
exit 77
