/** Packs files into a tar archive (POSIX ustar). The same names, contents and time give the same bytes, which no `tar` of a platform promises. */

const blockBytes = 512;

/** `files` are named by their paths in the archive, in at most 100 characters of ASCII. Each file gets the time `at`. */
export function createTar({
  files,
  at,
}: {
  files: ReadonlyMap<string, Uint8Array>;
  at: Date;
}): Buffer {
  const parts = [...files].flatMap(([name, content]) => [
    headerOf({ name, bytes: content.byteLength, at }),
    content,
    Buffer.alloc((blockBytes - (content.byteLength % blockBytes)) % blockBytes),
  ]);
  // An archive ends with two empty blocks.
  return Buffer.concat([...parts, Buffer.alloc(2 * blockBytes)]);
}

function headerOf({ name, bytes, at }: { name: string; bytes: number; at: Date }): Buffer {
  if (!/^[\x20-\x7e]{1,100}$/.test(name))
    throw new Error(`${name} does not fit into the archive's header.`);
  const header = Buffer.alloc(blockBytes);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  header.write(name, 0);
  header.write(octal(0o644, 7), 100);
  // Owner and group 0.
  header.write(octal(0, 7) + octal(0, 7), 108);
  header.write(octal(bytes, 11), 124);
  header.write(octal(Math.floor(at.getTime() / 1000), 11), 136);
  // A regular file. The checksum counts its own field as spaces.
  header.write(`${" ".repeat(8)}0`, 148);
  header.write("ustar\u000000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)} `, 148);
  return header;
}
