import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import type { Artifact } from "../../../../contracts/methods.ts";
import { createOutgoingFiles, leftOutCount } from "../../../../lambdas/verification/slack/messages/answer.ts";
import { sampleTask } from "../../task/sample.ts";

const filesOf = (artifacts: Artifact[], text = "Here it is.") =>
  createOutgoingFiles(sampleTask({ outcome: { type: "answer", text, artifacts } }));
const namesOf = (artifacts: Artifact[]) => filesOf(artifacts).map(({ name }) => name);
const long = "A sekisho was a checkpoint. ".repeat(3000);

describe("the files of an answer", () => {
  it("are what the agent made, in its order", () => {
    expect(
      filesOf([
        { name: "a.csv", mimetype: "text/csv", text: "a,b\n" },
        { name: "b.png", mimetype: "image/png", base64: "AAAA" },
        { name: "c.json", data: { gate: 1 } },
        { name: "d.pdf", url: "https://files.example/d.pdf" },
      ]),
    ).toEqual([
      { name: "a.csv", mimetype: "text/csv", content: { text: "a,b\n" } },
      { name: "b.png", mimetype: "image/png", content: { base64: "AAAA" } },
      { name: "c.json", mimetype: "application/json", content: { data: { gate: 1 } } },
      { name: "d.pdf", content: { url: "https://files.example/d.pdf" } },
    ]);
  });

  it("begin with the answer itself where it is very long, as the agent wrote it", () => {
    const [first, second] = filesOf([{ name: "answer.md", text: "another" }], long);
    expect(first).toEqual({ name: "answer.md", mimetype: "text/markdown", content: { text: long } });
    expect(second?.name).toBe("answer (2).md");
  });

  it("are the same whatever language, form and try", () => {
    const outcome = { type: "answer", text: long, artifacts: [{ text: "x" }] } as const;
    const [plain, again] = [
      sampleTask({ outcome: { ...outcome, artifacts: [{ text: "x" }] }, mrkdwnFallback: true, locale: "ja" }),
      sampleTask({ outcome: { ...outcome, artifacts: [{ text: "x" }], uploads: [{ failed: true }] } }),
    ];
    expect(createOutgoingFiles(plain)).toEqual(createOutgoingFiles(again));
  });

  it("repeat nothing that the message says already, and have no file of nothing", () => {
    expect(
      filesOf([{ text: " Here it is.\n" }, { name: "empty" }, { text: " " }, { base64: "" }, { data: null }]),
    ).toEqual([]);
  });

  it("are at most twenty, and how many are left out is known", () => {
    const outcome = {
      type: "answer" as const,
      text: "",
      artifacts: Array.from({ length: 23 }, (_, index) => ({ text: `file ${index}` })),
    };
    expect(createOutgoingFiles(sampleTask({ outcome }))).toHaveLength(20);
    expect(leftOutCount(sampleTask({ outcome }))).toBe(3);
    // With what did not get as far as the record.
    expect(leftOutCount(sampleTask({ outcome: { ...outcome, leftOut: 4 } }))).toBe(7);
  });

  it("are written when they are uploaded, and not for their names", () => {
    const data = Object.defineProperty({}, "gate", {
      enumerable: true,
      get: () => {
        throw new Error("written");
      },
    });
    const outcome = { type: "answer" as const, text: "", artifacts: Array.from({ length: 30 }, () => ({ data })) };
    expect(createOutgoingFiles(sampleTask({ outcome })).map(({ name }) => name)).toContain("file (20).json");
    expect(createOutgoingFiles(sampleTask({ outcome }))).toBe(createOutgoingFiles({ outcome }));
  });

  it("are none without an answer", () => {
    expect(createOutgoingFiles(sampleTask())).toEqual([]);
    expect(createOutgoingFiles(sampleTask({ outcome: { type: "refused" } }))).toEqual([]);
  });
});

describe("the name of a file", () => {
  it.each<[Artifact, string]>([
    [{ text: "x" }, "file.txt"],
    [{ base64: "AAAA" }, "file.bin"],
    [{ data: 1 }, "file.json"],
    [{ name: "report", mimetype: "text/csv; charset=utf-8", text: "x" }, "report.csv"],
    [{ name: "report.tar.gz", mimetype: "application/gzip", base64: "AAAA" }, "report.tar.gz"],
    [{ name: "../../etc/passwd", text: "x" }, "passwd.txt"],
    [{ name: "C:\\temp\\a.txt", text: "x" }, "a.txt"],
    [{ name: "..", text: "x" }, "file.txt"],
    [{ name: "a\u0000b\n\u202Egpj.exe", text: "x" }, "abgpj.exe"],
    [{ name: '<a>:"b"|?*`$.md', text: "x" }, "_a___b______.md"],
    [{ name: "報告書.pdf", base64: "AAAA" }, "報告書.pdf"],
    [{ url: "https://files.example/a/%E5%A0%B1%E5%91%8A.pdf?x=1" }, "報告.pdf"],
    [{ url: "https://files.example/" }, "file.bin"],
    [{ name: "chart", url: "https://files.example/x.png" }, "chart.png"],
  ])("of %j is %s", (artifact, name) => {
    expect(namesOf([artifact])).toEqual([name]);
  });

  it("is another one for every file, in small letters too", () => {
    expect(
      namesOf([
        { name: "a.csv", text: "1" },
        { name: "A.CSV", text: "2" },
        { name: "a.csv", text: "3" },
      ]),
    ).toEqual(["a.csv", "A (2).CSV", "a (3).csv"]);
  });

  it("is safe and its own, whatever the agent says", () => {
    const artifact = fc.record({ name: fc.string({ unit: "binary", maxLength: 300 }), text: fc.constant("x") });
    fc.assert(
      fc.property(fc.array(artifact, { maxLength: 25 }), (artifacts) => {
        const names = namesOf(artifacts);
        for (const name of names) {
          expect(name).toMatch(/^[^/\\<>:"|?*\p{C}]{3,150}$/u);
          expect(name).toMatch(/[^.\s]\.[\p{L}\p{N}]{1,10}$/u);
        }
        expect(new Set(names.map((name) => name.toLowerCase())).size).toBe(names.length);
      }),
    );
  });
});
