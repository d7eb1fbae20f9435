import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { safeFileName } from "../../../lambdas/verification/files/files.ts";

describe("a file's name", () => {
  it.each([
    ["../../etc/passwd", "passwd"],
    ["C:\\Users\\me\\report.docx", "report.docx"],
    ["a\r\nset-cookie: b.txt", "aset-cookie: b.txt"],
    ["invoice\u202Efdp.exe", "invoicefdp.exe"],
    ["報告書（最終）.pdf", "報告書（最終）.pdf"],
    [" spaced .txt ", "spaced .txt"],
    ["..", "file"],
    ["", "file"],
    ["a/", "file"],
    [".env", ".env"],
  ])("%j is kept as %j", (given, kept) => {
    expect(safeFileName(given)).toBe(kept);
  });

  it("keeps its ending when it is cut, and never half a character", () => {
    expect(safeFileName(`${"x".repeat(300)}.pdf`)).toBe(`${"x".repeat(251)}.pdf`);
    const cut = safeFileName(`${"x".repeat(250)}😀😀😀.pdf`);
    expect(cut).toBe(`${"x".repeat(250)}.pdf`);
    expect(safeFileName(`x.${"y".repeat(300)}`)).toHaveLength(255);
  });

  it("is always one that contract, headers and disks take, and the same when it is made safe again", () => {
    const anyText = fc.string({ unit: "binary", maxLength: 600 });
    fc.assert(
      fc.property(anyText, (name) => {
        const safe = safeFileName(name);
        expect(safe.length).toBeGreaterThan(0);
        expect(safe.length).toBeLessThanOrEqual(255);
        expect(safe).not.toMatch(/[/\\\p{Cc}]/u);
        expect(safe.isWellFormed()).toBe(true);
        expect(safeFileName(safe)).toBe(safe);
      }),
    );
  });
});
