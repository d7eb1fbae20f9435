/** Packs files into a tar archive (POSIX ustar). The same names, contents and time give the same bytes. */

const blockBytes = 512;

/** `files` are named by their paths in the archive: at most 100 characters of ASCII each. `at` is the time of all of them. */
export function createTar({ files, at }: { files: ReadonlyMap<string, Uint8Array>; at: Date }): Buffer {
  const parts = [...files].flatMap(([name, content]) => [
    headerOf({ name, bytes: content.byteLength, at }),
    content,
    Buffer.alloc((blockBytes - (content.byteLength % blockBytes)) % blockBytes),
  ]);
  // Two empty blocks end an archive.
  return Buffer.concat([...parts, Buffer.alloc(2 * blockBytes)]);
}

function headerOf({ name, bytes, at }: { name: string; bytes: number; at: Date }): Buffer {
  if (!/^[\x20-\x7e]{1,100}$/.test(name)) throw new Error(`${name} does not fit into the header of an archive.`);
  const header = Buffer.alloc(blockBytes);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  header.write(name, 0);
  header.write(octal(0o644, 7), 100);
  // The owner and the group: 0.
  header.write(octal(0, 7) + octal(0, 7), 108);
  header.write(octal(bytes, 11), 124);
  header.write(octal(Math.floor(at.getTime() / 1000), 11), 136);
  // A regular file. The sum is counted with spaces in its own place.
  header.write(`${" ".repeat(8)}0`, 148);
  header.write("ustar\u000000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)} `, 148);
  return header;
}
