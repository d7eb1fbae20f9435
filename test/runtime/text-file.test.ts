import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { readTextFile } from "@sekisho/runtime/text-file.ts";
import { folderOfTest } from "../tooling/cleanup.ts";

const text = "関所=1 😀\n";
const utf16le = Buffer.from(text, "utf16le");
const utf16be = Buffer.from(utf16le).swap16();

describe("readTextFile", () => {
  it.each([
    ["UTF-8 without a mark", Buffer.from(text)],
    ["UTF-8 with a mark", Buffer.concat([Buffer.from("efbbbf", "hex"), Buffer.from(text)])],
    ["UTF-16, little endian", Buffer.concat([Buffer.from("fffe", "hex"), utf16le])],
    ["UTF-16, big endian", Buffer.concat([Buffer.from("feff", "hex"), utf16be])],
  ])("reads %s", (_, bytes) => {
    const file = join(folderOfTest(), "text");
    writeFileSync(file, bytes);
    expect(readTextFile(file)).toBe(text);
  });

  it("reads an empty file and throws for a missing one", () => {
    const file = join(folderOfTest(), "text");
    expect(() => readTextFile(file)).toThrow("ENOENT");
    writeFileSync(file, "");
    expect(readTextFile(file)).toBe("");
  });
});
