"""One end of a wire, raw: sends each line of standard input as a frame, prints each frame that arrives, both in hex."""
import os
import select
import socket
import sys

wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
wire.bind((sys.argv[1], 0))
print("ready", flush=True)
rest = b""
while True:
    readable, _, _ = select.select([wire, 0], [], [])
    if wire in readable:
        frame, address = wire.recvfrom(65535)
        if address[2] != 4:  # not what went out by this end
            print(frame.hex(), flush=True)
    if 0 in readable:
        given = os.read(0, 65536)
        if not given:
            break
        *lines, rest = (rest + given).split(b"\n")
        for line in lines:
            wire.send(bytes.fromhex(line.decode()))
