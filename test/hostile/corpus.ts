/** Hostile answers and responses of an Execution zone: texts, results and whole HTTP responses. */
import { gzipSync } from "node:zlib";
import { failureText } from "@sekisho/verification/slack/messages/failure-text.ts";
import {
  emptyAnswerText,
  missingFilesText,
} from "@sekisho/verification/slack/messages/outcome-text.ts";
import { failure, halfOf, json, raw, result, silence } from "../doubles/answers.ts";
import type { PeerCall } from "../doubles/execution-peer.ts";
import { connectionReset } from "../doubles/web-server.ts";

export type Entry = {
  name: string;
  /** `taskId` is the entry's own. */
  respond: (call: PeerCall, taskId: string) => Response | Promise<Response>;
  /** The text that the thread must show. */
  shows?: RegExp;
  /** To its caller it is an outage, which is tried again for a while. */
  isOutage?: true;
};

const slow = (unit: string) => unit.repeat(3000).slice(0, 39_000);
const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
const mismatchText = failureText({
  reason: "invalid_response",
  lost: false,
  locale: "en",
}).happened;
const inDoubtText = failureText({ reason: "ambiguous", lost: false, locale: "en" }).happened;
const nothing = new RegExp(emptyAnswerText.en(0));
const mismatch = new RegExp(mismatchText);
const tooLarge = /too large/;
const inDoubt = new RegExp(`${inDoubtText}|${mismatchText}`);
const leftOut = (count: number) =>
  new RegExp(missingFilesText({ locale: "en", failed: [], leftOut: count }));

/** `value` is JSON. */
const ofJson = (value: string) => (call: PeerCall) =>
  raw(`{"jsonrpc":"2.0","id":"${call.id}","result":${value}}`);
const text = (name: string, value: string, shows?: RegExp): Entry => ({
  name: `text: ${name}`,
  // Half a character is written as an escape, as JSON.stringify writes it.
  respond: ofJson(`{"status":"success","response_text":${JSON.stringify(value)}}`),
  ...(shows && { shows }),
});
const done = (name: string, members: string, shows?: RegExp): Entry => ({
  name: `result: ${name}`,
  respond: ofJson(`{"status":"success","response_text":"It is done."${members}}`),
  shows: shows ?? /It is done\./,
});
const response = (name: string, respond: Entry["respond"], shows?: RegExp): Entry => ({
  name: `response: ${name}`,
  respond,
  ...(shows && { shows }),
});
const outage = (name: string, respond: Entry["respond"]): Entry => ({
  ...response(name, respond, inDoubt),
  isOutage: true,
});
/** Accepted first, and then as `then` says, at each poll. */
const polled = (name: string, then: Entry["respond"], shows?: RegExp): Entry => ({
  name: `poll: ${name}`,
  respond: (call, taskId) =>
    call.method === "execute_task"
      ? result(call, { status: "accepted", task_id: taskId, poll_after_ms: 100 })
      : then(call, taskId),
  ...(shows && { shows }),
});
/** At work with that progress at two polls, done at the next one. */
const progressing = (name: string, progress: string): Entry =>
  polled(
    name,
    (call, taskId) => {
      const accepted = `{"status":"accepted","task_id":"${taskId}","poll_after_ms":100,"progress":${progress}}`;
      return call.count % 3 > 0
        ? ofJson(accepted)(call)
        : result(call, { status: "success", response_text: "It is done." });
    },
    /It is done\./,
  );
const artifacts = (name: string, list: string, shows: RegExp) =>
  done(name, `,"artifacts":[${list}]`, shows);

const texts: readonly Entry[] = [
  text("half a surrogate pair at the end", "All done \u{1F600}".slice(0, -1), /All done/),
  text("half a surrogate pair alone", "\ud83d"),
  text("halves everywhere", "\udc00x\ud800".repeat(3000), /x/),
  text("a mark that turns the direction", "\u202e", nothing),
  text("directions within words", "safe \u202egpj.exe\u202c \u2066x\u2069", /safe/),
  text("a lone link definition", "[a]: http://x", nothing),
  text("1,500 empty code fences", "```\n```\n".repeat(1500), nothing),
  text("20,000 empty code fences", "```\n```\n".repeat(20_000), /file|without/),
  text("nothing", "", nothing),
  text("blanks", " \n\t\u00a0\u3000\n", nothing),
  text("zero-width characters", "\u200b\u200c\u200d\ufeff", nothing),
  text("combining marks alone", "\u0301\u0489", nothing),
  text("an HTML comment", "<!-- nothing -->", nothing),
  text("blanks as entities", "&nbsp;&#8203;", nothing),
  text("an empty heading", "#", nothing),
  text("empty list items", "- \n- \n", nothing),
  text("a table without cells", "| | |\n|-|-|\n| | |", nothing),
  text("an image without a text", "![](https://example.com/a.png)", /example\.com/),
  text("NUL and other controls", "a\u0000b\u0007c\u001b[31m", /abc/),
  text("NUL alone", "\u0000\u0000", nothing),
  text("zalgo", `Z${"\u0335\u0321\u0353".repeat(4000)}algo`, /Z/),
  text(
    "right to left",
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627".repeat(200),
    /\u05e9/,
  ),
  text("5,000 nested quotes", `${">".repeat(5000)} deep`, /deep/),
  text("5,000 nested lists", `${"- ".repeat(5000)}deep`, /deep/),
  text("5,000 brackets", `${"[".repeat(5000)}deep${"]".repeat(5000)}`, /deep/),
  text("5,000 stars", `${"*".repeat(5000)}deep${"*".repeat(5000)}`, /deep/),
  text("one line of 200,000 characters", "x".repeat(200_000), /x/),
  text("one line that breaks nowhere, in Japanese", "\u95a2".repeat(30_000), /\u95a2/),
  text(
    "a table of 1,000 columns",
    `${"|a".repeat(1000)}|\n${"|-".repeat(1000)}|\n${"|b".repeat(1000)}|`,
    /a/,
  ),
  text("a table of 2,000 rows", `|a|b|\n|-|-|\n${"|1|2|\n".repeat(2000)}`, /a/),
  text("mentions", "<!channel> <!here> <@U123> @everyone <!subteam^S1>", /channel/),
  text("a link in disguise", "[https://bank.example](https://evil.example)", /evil\.example/),
  text(
    "a link in disguise, by a letter of another script",
    "[https://b\u0430nk.example](https://evil.example)",
    /evil\.example/,
  ),
  text(
    "a link in disguise, by a blank in the scheme",
    "[https: //bank](https://evil.example)",
    /evil\.example/,
  ),
  text("mentions written with entities", "<!&#99;hannel> <&#64;U123> <&excl;here>", /U123/),
  text(
    "a comment that fits into no message",
    `<!-- ${"never ".repeat(5000)} --> It is done.`,
    /It is done/,
  ),
  text("5,001 empty headings", "#\n".repeat(5001), nothing),
  text(
    "tables, brackets and addresses that hold a parser",
    slow("&lt;(|a|b|\n|\n|-|\nwww.a.b"),
    /a\.b/,
  ),
  text("links that do not end, in tables", slow("[[[[](|a|b|\n|-|-|\n"), /a/),
  text("a script as a link", "[click](javascript:alert(1)) ![x](file:///etc/passwd)", /click/),
  text("emoji of families", "\u{1F468}\u200d\u{1F469}\u200d\u{1F467}".repeat(1000), /\u{1F468}/u),
  text("300 KB", "A sekisho was a checkpoint. ".repeat(11_000), /checkpoint/),
  text("700 KB", "A sekisho was a checkpoint. ".repeat(25_000), tooLarge),
];

const results: readonly Entry[] = [
  artifacts("JSON nested 9,000 deep", `{"data":${nested(9000)}}`, leftOut(1)),
  artifacts(
    "50 artifacts, nested 2,500 deep",
    Array.from({ length: 50 }, () => `{"data":${nested(2500)}}`).join(","),
    leftOut(50),
  ),
  artifacts(
    "10,000 artifacts",
    Array.from({ length: 10_000 }, () => '{"text":"x"}').join(","),
    leftOut(9980),
  ),
  artifacts("a script as address", '{"url":"javascript:alert(1)"}', leftOut(1)),
  artifacts("a file of the machine", '{"url":"file:///etc/passwd"}', leftOut(1)),
  artifacts("data as address", '{"url":"data:text/html,<script>"}', leftOut(1)),
  artifacts(
    "an address of the metadata service",
    '{"name":"a.txt","url":"http://169.254.169.254/"}',
    /couldn't attach/,
  ),
  artifacts(
    "names that climb",
    '{"name":"../../../etc/passwd\\u0000.png\\ud800","text":"x"}',
    /It is done/,
  ),
  artifacts("bytes that are none", '{"base64":"!!!"},{"base64":7}', leftOut(2)),
  artifacts("things that are none", 'null,7,"x",[],{}', leftOut(5)),
  done("artifacts that are no list", ',"artifacts":{"a":1}', leftOut(1)),
  done(
    "a prototype",
    ',"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}',
  ),
  done(
    "numbers beyond numbers",
    ',"usage":{"input_tokens":1e999,"output_tokens":-1e999},"n":1e400',
  ),
  {
    name: "result: keys twice",
    respond: ofJson(
      '{"status":"success","response_text":"It is done.","response_text":"It is done."}',
    ),
    shows: inDoubt,
  },
  done("a deep member that nobody knows", `,"mood":${nested(20_000)}`),
  done("100,000 members", `,${Array.from({ length: 30_000 }, (_, n) => `"m${n}":0`).join(",")}`),
  {
    name: "result: a text that is a number",
    respond: ofJson('{"status":"success","response_text":42}'),
    shows: mismatch,
  },
  {
    name: "result: a text that is nested 9,000 deep",
    respond: ofJson(`{"status":"success","response_text":${nested(9000)}}`),
    shows: mismatch,
  },
  { name: "result: no status", respond: ofJson("{}"), shows: inDoubt },
  {
    name: "result: a status that nobody knows",
    respond: ofJson('{"status":"\\ud800"}'),
    shows: inDoubt,
  },
  { name: "result: null", respond: ofJson("null"), shows: inDoubt },
  { name: "result: 9,000 lists", respond: ofJson(nested(9000)), shows: inDoubt },
];

const utf8 = (parts: readonly (string | number[])[]) =>
  Buffer.concat(
    parts.map((part) => (typeof part === "string" ? Buffer.from(part) : Buffer.from(part))),
  );
const bytes = (body: Uint8Array, headers: Record<string, string> = {}) =>
  new Response(new Uint8Array(body), {
    headers: { "content-type": "application/json", ...headers },
  });
const success = (id: string, value: string) =>
  JSON.stringify({ jsonrpc: "2.0", id, result: { status: "success", response_text: value } });

/** As many bytes as the reader takes, a little at a time. */
function drip({ signal }: PeerCall, start: string, next: string): ReadableStream<Uint8Array> {
  return new ReadableStream({
    async start(controller) {
      controller.enqueue(Buffer.from(start));
      while (!signal.aborted) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        try {
          controller.enqueue(Buffer.from(next));
        } catch {
          return;
        }
      }
    },
  });
}

const responses: readonly Entry[] = [
  response(
    "bytes that are no UTF-8",
    ({ id }) => {
      const [start = "", end = ""] = success(id, "It |is done.").split("|");
      return bytes(utf8([start, [0xff, 0xfe, 0xc3], end]));
    },
    inDoubt,
  ),
  response(
    "a byte order mark",
    ({ id }) => bytes(utf8([[0xef, 0xbb, 0xbf], success(id, "It is done.")])),
    inDoubt,
  ),
  response(
    "UTF-16",
    ({ id }) => bytes(Buffer.from(success(id, "It is done."), "utf16le")),
    inDoubt,
  ),
  response("another id", () => raw(success("other", "It is somebody else's.")), inDoubt),
  response("an id that is a number", () => raw('{"jsonrpc":"2.0","id":1,"result":{}}'), inDoubt),
  response(
    "no id",
    () => json({ jsonrpc: "2.0", result: { status: "success", response_text: "x" } }),
    inDoubt,
  ),
  response("a batch", ({ id }) => raw(`[${success(id, "x")}]`), inDoubt),
  response("result and error", ({ id }) =>
    json({ jsonrpc: "2.0", id, result: {}, error: { code: 1, message: "" } }),
  ),
  response("an error with deep data", ({ id }) =>
    raw(
      `{"jsonrpc":"2.0","id":"${id}","error":{"code":-32064,"message":"\\ud800","data":${nested(9000)}}}`,
    ),
  ),
  response("an error with data that lies", ({ id }) =>
    json({
      jsonrpc: "2.0",
      id,
      error: { code: -32603, message: "x", data: { reason: "__proto__", retryable: "yes" } },
    }),
  ),
  response("an error of 500 KB", (call) =>
    failure(call, "execution_failed", {
      details: { issues: [{ path: "p", message: "x".repeat(500_000) }] },
    }),
  ),
  response(
    "a page",
    () => raw("<html><body>Welcome</body></html>", { headers: { "content-type": "text/html" } }),
    inDoubt,
  ),
  response("a page that says it is JSON", () => raw("<html></html>"), inDoubt),
  response("a success of another type", ({ id }) =>
    raw(success(id, "x"), { headers: { "content-type": "text/plain" } }),
  ),
  response("cut JSON", ({ id }) => raw(success(id, "x").slice(0, -5)), inDoubt),
  response("nothing", () => raw(""), inDoubt),
  response("no content", () => new Response(null, { status: 204 }), inDoubt),
  response(
    "a redirect",
    () => new Response(null, { status: 302, headers: { location: "http://127.0.0.1:1/" } }),
    inDoubt,
  ),
  response("a teapot", () => raw("short and stout", { status: 418 }), inDoubt),
  response(
    "a gzip bomb",
    () => bytes(gzipSync(Buffer.alloc(30_000_000)), { "content-encoding": "gzip" }),
    inDoubt,
  ),
  response("a length of two gigabytes", () =>
    raw("{}", { headers: { "content-length": "2000000000" } }),
  ),
  response("2 MB", ({ id }) => raw(success(id, "x".repeat(2_000_000))), tooLarge),
  response("a million brackets that never close", () => raw("[".repeat(1_000_000)), inDoubt),
  outage("a slow drip", (call) => raw(drip(call, '{"jsonrpc":"2.0",', " "))),
  response("events without end", (call) =>
    raw(drip(call, "data: {}\n\n", "data: {}\n\n"), {
      headers: { "content-type": "text/event-stream" },
    }),
  ),
  outage("silence", silence),
  outage("a cut connection", () => {
    throw connectionReset;
  }),
  outage("half a body", ({ id }) => halfOf(success(id, "x"), { rest: "break" })),
];

const polls: readonly Entry[] = [
  progressing("progress nested 9,000 deep", nested(9000)),
  progressing("progress of numbers beyond numbers", '{"percent":1e999,"text":"\\ud83d"}'),
  progressing("progress of nothing to see", '{"text":"\\u202e\\u200b","partial_text":"\\u200b"}'),
  progressing(
    "progress of 300 KB",
    `{"text":"${"x".repeat(300_000)}","partial_text":"${"[".repeat(11_000)}"}`,
  ),
  polled("a result that is none", ofJson('{"status":"success"}'), mismatch),
  polled(
    "a result nested 9,000 deep",
    ofJson(
      `{"status":"success","response_text":"It is done.","artifacts":[{"data":${nested(9000)}}]}`,
    ),
    leftOut(1),
  ),
  polled("garbage", () => raw("garbage"), inDoubt),
  polled("an unknown task", (call) => failure(call, "task_not_found")),
];

export const corpus: readonly Entry[] = [...texts, ...results, ...responses, ...polls];
