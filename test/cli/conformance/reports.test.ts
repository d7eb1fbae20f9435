import { describe, expect, it } from "@jest/globals";
import fc from "fast-check";
import { readPeerAnswer } from "../../../lib/cli/conformance/peer.ts";
import { formatJsonReport, formatJunitReport, formatTextReport } from "../../../lib/cli/conformance/reports.ts";
import { type CaseReport, isConformant } from "../../../lib/cli/conformance/run-cases.ts";

/** A strict parser of the reports' XML: elements and attributes without text between them. */

type Element = { name: string; attributes: Record<string, string>; children: Element[] };

const declaration = '<?xml version="1.0" encoding="UTF-8"?>';
const tag = /\s*<(\/?)([a-z]+)((?: [a-z]+="[^"<&\t\n\r]*(?:&(?:amp|lt|gt|quot|#\d+);[^"<&\t\n\r]*)*")*)(\/?)>/y;

/** Throws on anything else. */
function parseXml(text: string): Element[] {
  if (!text.startsWith(declaration)) throw new Error("no declaration");
  const root: Element = { name: "", attributes: {}, children: [] };
  const open = [root];
  tag.lastIndex = declaration.length;
  let end = declaration.length;
  for (let found = tag.exec(text); found !== null; found = tag.exec(text)) {
    end = tag.lastIndex;
    const [, closing, name = "", attributes = "", selfClosing] = found;
    if (closing) {
      if (open.pop()?.name !== name) throw new Error(`</${name}> closes another element`);
      continue;
    }
    const element = { name, attributes: attributesIn(attributes), children: [] };
    open.at(-1)?.children.push(element);
    if (!selfClosing) open.push(element);
  }
  if (open.length !== 1 || text.slice(end).trim() !== "") throw new Error(`no XML from ${end} on`);
  return root.children;
}

function attributesIn(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(/ ([a-z]+)="([^"]*)"/g)].map(([, name, value = ""]) => [name, plain(value)]),
  );
}

function plain(text: string): string {
  const named: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"' };
  return text.replace(/&(?:#(\d+)|([a-z]+));/g, (_all, code, name) =>
    code === undefined ? (named[name] ?? "") : String.fromCodePoint(Number(code)),
  );
}

const endpoint = "https://agents.example.com/";

const report = (over: Partial<CaseReport>): CaseReport => ({
  name: "envelope/batch",
  level: "required",
  outcome: "passed",
  expected: "an error",
  came: "HTTP 200",
  durationMs: 12,
  ...over,
});

const reports = [
  report({ name: "execute/answers" }),
  report({ outcome: "failed", came: "HTTP 500" }),
  report({ name: "envelope/utf-8", level: "optional", outcome: "failed", came: "HTTP 400" }),
  report({ name: "cancel/again", outcome: "skipped", came: "nothing was accepted" }),
];

const outcomes = fc.constantFrom<CaseReport["outcome"]>("passed", "failed", "skipped");
const levels = fc.constantFrom<CaseReport["level"]>("required", "optional");

describe("the report for a person", () => {
  it("says of each case what was expected and what came, and never passes what was skipped", () => {
    expect(formatTextReport({ endpoint, reports }).split("\n")).toEqual([
      "passed    required  execute/answers",
      "          expected  an error",
      "          came      HTTP 200",
      "FAILED    required  envelope/batch",
      "          expected  an error",
      "          came      HTTP 500",
      "not kept  optional  envelope/utf-8",
      "          expected  an error",
      "          came      HTTP 400",
      "skipped   required  cancel/again",
      "          expected  an error",
      "          because   nothing was accepted",
      "",
      "required: 1 passed, 1 failed, 1 skipped",
      "optional: 0 passed, 1 not kept, 0 skipped",
      "https://agents.example.com/ fails required cases: envelope/batch.",
    ]);
    const rest = reports.filter(({ name }) => name !== "envelope/batch");
    expect(formatTextReport({ endpoint, reports: rest })).toContain(`${endpoint} passes every required case.`);
  });
});

describe("the report for a program", () => {
  it("holds every case and how many ended how", () => {
    expect(JSON.parse(formatJsonReport({ endpoint, reports }))).toEqual({
      endpoint,
      kept: false,
      count: {
        required: { passed: 1, failed: 1, skipped: 1 },
        optional: { passed: 0, failed: 1, skipped: 0 },
      },
      cases: reports,
    });
  });

  it("says that the contract is kept exactly where no required case failed", () => {
    const anyReports = fc.array(fc.record({ level: levels, outcome: outcomes }).map((over) => report(over)));
    fc.assert(
      fc.property(anyReports, (given) => {
        const broken = given.some(({ level, outcome }) => level === "required" && outcome === "failed");
        return (
          isConformant(given) === !broken && JSON.parse(formatJsonReport({ endpoint, reports: given })).kept === !broken
        );
      }),
    );
  });
});

describe("the report for a CI server", () => {
  it("fails the build for required cases alone", () => {
    const [suites] = parseXml(formatJunitReport({ endpoint, reports }));
    const [suite] = suites?.children ?? [];
    expect(suite).toMatchObject({ name: "testsuite", attributes: { tests: "4", failures: "1", skipped: "2" } });
    expect(suite?.children.map(({ attributes, children }) => [attributes, children.map(({ name }) => name)])).toEqual([
      [{ classname: "conformance.execute", name: "answers", time: "0.012" }, []],
      [{ classname: "conformance.envelope", name: "batch", time: "0.012" }, ["failure"]],
      [{ classname: "conformance.envelope", name: "utf-8", time: "0.012" }, ["skipped"]],
      [{ classname: "conformance.cancel", name: "again", time: "0.012" }, ["skipped"]],
    ]);
  });

  it("is well-formed XML whatever an endpoint says, and says it back", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (came) => {
        const xml = formatJunitReport({ endpoint, reports: [report({ outcome: "skipped", came })] });
        const [skipped] = parseXml(xml)[0]?.children[0]?.children[0]?.children ?? [];
        const sayable = came.replace(/[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu, "\ufffd");
        return skipped?.attributes.message === sayable;
      }),
    );
    const nasty = '<b> & "x" \u0000\u001b\ud800 \ufffe]]> 関所 🏯\n';
    const [suites] = parseXml(formatJunitReport({ endpoint, reports: [report({ outcome: "skipped", came: nasty })] }));
    const message = suites?.children[0]?.children[0]?.children[0]?.attributes.message;
    expect(message).toBe('<b> & "x" \ufffd\ufffd\ufffd \ufffd]]> 関所 🏯\n');
  });
});

describe("what came", () => {
  const came = (body: string) => readPeerAnswer({ status: 200, body: Buffer.from(body) }).came;
  const response = (result: unknown) => JSON.stringify({ jsonrpc: "2.0", id: "1", result });

  it("is told in one line of bounded length, without what a terminal acts upon", () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        const line = came(json);
        return line.length < 400 && !/\p{Cc}/u.test(line);
      }),
    );
    expect(came(response("\u001b[2J\u009b\u202e\n"))).toBe(
      'HTTP 200, {"result":"\\u001b[2J\\u009b\\u202e\\n","id":"1"}',
    );
    expect(came(response("x".repeat(10_000))).length).toBeLessThan(400);
  });

  it("never shows a credential that an endpoint says back", () => {
    const echoed = { authorization: "Bearer abc.def", said: "you sent Bearer abc.def to me", token: "abc.def" };
    expect(came(response(echoed))).toContain("you sent Bearer [redacted] to me");
    expect(came(response(echoed))).not.toContain("abc.def");
  });

  it("is told from other things than a JSON-RPC Response", () => {
    expect(came("")).toBe("HTTP 200, no JSON-RPC body");
    expect(came("<html>")).toBe("HTTP 200, 6 bytes that are no JSON in UTF-8");
    expect(came('{"message":"Forbidden"}')).toBe(
      'HTTP 200, JSON that is no JSON-RPC Response: {"message":"Forbidden"}',
    );
  });
});
