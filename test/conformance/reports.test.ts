import { describe, expect, it } from "@jest/globals";
import type { CaseReport } from "@sekisho/conformance/conformance.ts";
import { readAnswer } from "@sekisho/conformance/peer.ts";
import {
  formatJsonReport,
  formatJunitReport,
  formatTextReport,
  type NamedReport,
} from "@sekisho/conformance/reports.ts";
import fc from "fast-check";

type Element = { name: string; attributes: Record<string, string> };

const declaration = '<?xml version="1.0" encoding="UTF-8"?>';
const tag =
  /\s*<(\/?)([a-z]+)((?: [a-z]+="[^"<&\t\n\r]*(?:&(?:amp|lt|gt|quot|#\d+);[^"<&\t\n\r]*)*")*)(\/?)>/y;

/** Returns the elements of the XML in their order. Throws where it is not well-formed, or has text between its elements. */
function parseXml(text: string): Element[] {
  if (!text.startsWith(declaration)) throw new Error("no declaration");
  const elements: Element[] = [];
  const open: string[] = [];
  let end = declaration.length;
  for (;;) {
    tag.lastIndex = end;
    const [, closing, name = "", attributes = "", selfClosing] = tag.exec(text) ?? [];
    if (name === "") break;
    end = tag.lastIndex;
    if (closing && open.pop() !== name) throw new Error(`</${name}> closes another element`);
    if (closing) continue;
    elements.push({ name, attributes: readAttributes(attributes) });
    if (!selfClosing) open.push(name);
  }
  if (open.length > 0 || text.slice(end).trim() !== "") throw new Error(`no XML from ${end} on`);
  return elements;
}

function readAttributes(text: string): Record<string, string> {
  const named: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"' };
  const plain = (value: string) =>
    value.replace(/&(?:#(\d+)|([a-z]+));/g, (_all, code, name) =>
      code === undefined ? (named[name] ?? "") : String.fromCodePoint(Number(code)),
    );
  const pairs = [...text.matchAll(/ ([a-z]+)="([^"]*)"/g)];
  return Object.fromEntries(pairs.map(([, name, value = ""]) => [name, plain(value)]));
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

const broken = {
  step: "once more",
  sent: '{"method":"cancel_task"}',
  contract: "docs/reference/contract.md, Envelope",
  advice: "Refuse lists.",
};

const cases = [
  report({ name: "execute/answers" }),
  report({
    name: "envelope/utf-8",
    level: "strict",
    outcome: "failed",
    came: "HTTP 400",
    advice: "Check it.",
  }),
  report({ outcome: "failed", came: "HTTP 500", ...broken }),
  report({ name: "cancel/again", outcome: "skipped", came: "nothing was accepted" }),
];

function reportOf(values: readonly CaseReport[], over: Partial<NamedReport> = {}): NamedReport {
  return {
    endpoint,
    level: "required",
    profile: "https",
    kept: false,
    durationMs: 12_345,
    waitedMs: 0,
    cases: values,
    ...over,
  };
}

describe("the report for a person", () => {
  it("shows failures first, with what was sent, what came and what to do", () => {
    expect(formatTextReport(reportOf(cases)).split("\n")).toEqual([
      "FAILED    required  envelope/batch",
      "          expected  an error",
      "          step      once more",
      '          sent      {"method":"cancel_task"}',
      "          came      HTTP 500",
      "          contract  docs/reference/contract.md, Envelope",
      "          do        Refuse lists.",
      "not kept  strict    envelope/utf-8",
      "          expected  an error",
      "          came      HTTP 400",
      "          do        Check it.",
      "passed    required  execute/answers",
      "          expected  an error",
      "          came      HTTP 200",
      "skipped   required  cancel/again",
      "          expected  an error",
      "          because   nothing was accepted",
      "",
      "required: 1 passed, 1 failed, 1 skipped",
      "strict: 0 passed, 1 failed, 0 skipped (they count with --level strict)",
      "leaks: 0 passed, 0 failed, 0 skipped",
      "skipped, because:",
      "    1  nothing was accepted",
      "4 cases in 12.345 s.",
      "https://agents.example.com/ fails required cases: envelope/batch.",
    ]);
  });

  it("shows only failures on request, and counts all cases", () => {
    const text = formatTextReport(reportOf(cases), { onlyFailures: true });
    expect(text).not.toMatch(/^(passed|skipped) /m);
    expect(text).toMatch(/^FAILED.*^not kept.*^required: 1 passed, 1 failed, 1 skipped/ms);
  });

  it("shows the level at which an endpoint passes, and how long the run waited", () => {
    const rest = cases.filter(
      ({ name, outcome }) => name !== "envelope/batch" && outcome !== "skipped",
    );
    expect(formatTextReport(reportOf(rest))).toContain(`${endpoint} passes every required case.`);
    const strict = reportOf(rest, { level: "strict", waitedMs: 9000 });
    expect(formatTextReport(strict)).toContain(`${endpoint} fails strict cases: envelope/utf-8.`);
    expect(formatTextReport(strict)).toContain(
      "of which 9.000 s were the wait for the second look",
    );
  });

  it("counts the skipped cases of a passing endpoint, with each reason once", () => {
    const skip = (came: string) => report({ outcome: "skipped", came });
    const values = [
      report({}),
      skip("no second caller"),
      skip("nothing was accepted"),
      skip("nothing was accepted"),
    ];
    expect(
      formatTextReport(reportOf(values), { onlyFailures: true }).split("\n").slice(-5),
    ).toEqual([
      "skipped, because:",
      "    2  nothing was accepted",
      "    1  no second caller",
      "4 cases in 12.345 s.",
      `${endpoint} passes every required case that was tried. 3 cases were skipped.`,
    ]);
  });

  it("fails a leaking endpoint at every level", () => {
    const leak = [report({ name: "leaks/innards", level: "leak", outcome: "failed" })];
    expect(formatTextReport(reportOf(leak))).toContain(
      "fails required cases: leaks/innards. It leaks",
    );
  });
});

describe("the report for a program", () => {
  const count = {
    required: { passed: 1, failed: 1, skipped: 1 },
    strict: { passed: 0, failed: 1, skipped: 0 },
    leak: { passed: 0, failed: 0, skipped: 0 },
  };

  it("writes every case and the counts of outcomes as JSON", () => {
    const fixed = { endpoint, level: "required", profile: "https", kept: false, count };
    expect(JSON.parse(formatJsonReport(reportOf(cases)))).toEqual({ ...fixed, cases });
  });

  it("writes only failures as JSON on request, and counts all cases", () => {
    const json = JSON.parse(formatJsonReport(reportOf(cases), { onlyFailures: true }));
    expect(json).toMatchObject({
      count,
      cases: [{ name: "envelope/utf-8" }, { name: "envelope/batch" }],
    });
  });
});

describe("the report for a CI server", () => {
  it("writes JUnit XML that fails the build only for cases that count at the level", () => {
    const elements = parseXml(formatJunitReport(reportOf(cases)));
    const one = (classname: string, name: string) => ({
      name: "testcase",
      attributes: { classname: `conformance.${classname}`, name, time: "0.012" },
    });
    expect(elements.slice(1)).toMatchObject([
      { name: "testsuite", attributes: { tests: "4", failures: "1", skipped: "2" } },
      one("execute", "answers"),
      one("envelope", "utf-8"),
      { name: "skipped" },
      one("envelope", "batch"),
      { name: "failure" },
      one("cancel", "again"),
      { name: "skipped" },
    ]);
  });

  it("writes well-formed XML for any text of an endpoint, and preserves the text", () => {
    const messageOf = (came: string) =>
      parseXml(formatJunitReport(reportOf([report({ outcome: "skipped", came })]))).at(-1)
        ?.attributes.message;
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (came) => {
        const sayable = came.replace(
          /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/gu,
          "\ufffd",
        );
        return messageOf(came) === sayable;
      }),
    );
    expect(messageOf('<b> & "x" \u0000\u001b\ud800 \ufffe]]> 関所 🏯\n')).toBe(
      '<b> & "x" \ufffd\ufffd\ufffd \ufffd]]> 関所 🏯\n',
    );
  });
});

describe("the received response", () => {
  const came = (body: string) =>
    readAnswer({ status: 200, headers: {}, body: Buffer.from(body) }, ["a-given-secret"]).came;
  const response = (result: unknown) => JSON.stringify({ jsonrpc: "2.0", id: "1", result });

  it("shows a response in one line of bounded length, without control characters", () => {
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

  it("redacts a credential that an endpoint echoes", () => {
    const echoed = {
      authorization: "Bearer abc.def",
      said: "you sent Bearer abc.def to me",
      token: "abc.def",
    };
    expect(came(response(echoed))).toContain("you sent Bearer [redacted] to me");
    expect(came(response(echoed))).not.toContain("abc.def");
  });

  it("redacts a credential that the endpoint was given", () => {
    expect(came(response("a-given-secret"))).not.toContain("a-given-secret");
  });

  it("describes a response that is not JSON-RPC", () => {
    expect(came("")).toBe("HTTP 200, no JSON-RPC body");
    expect(came("<html>")).toBe("HTTP 200, 6 bytes that are no JSON in UTF-8");
    expect(came('{"message":"Forbidden"}')).toBe(
      'HTTP 200, JSON that is no JSON-RPC Response: {"message":"Forbidden"}',
    );
  });
});
