/** Cases of `execute_task`: what the Verification zone sends day by day is answered with a result. */
import { maxRequestBytes } from "../../../../contracts/methods.ts";
import { type CaseRun, type ConformanceCase, Deviation, NotApplicable } from "../case.ts";
import { expectError, expectResult, hasReason, readPeerError } from "../expect.ts";
import { channel, expectSuccess, runTask } from "../run-task.ts";

const japanese = "関所を通る 🏯👩‍💻";
const attachment = {
  id: "F0CONFORMANCE",
  name: "関所.txt",
  mimetype: "text/plain",
  size: 12,
  url: "https://files.sekisho.invalid/F0CONFORMANCE",
};

const refusals = ["invalid_params", "invalid_request"] as const;

export const executeCases: readonly ConformanceCase[] = [
  {
    name: "execute/answers",
    level: "required",
    expects: "channel and text: a result with status success and response_text, and the id that was sent",
    check: (run) => executeAnswered({ run }),
  },
  {
    name: "execute/every-param",
    level: "required",
    expects: "every param that the Verification zone may send: success",
    check(run) {
      const requestId = run.newId();
      return executeAnswered({
        run,
        more: {
          thread_ts: "1700000000.000100",
          team_id: "T0CONFORMANCE",
          user_id: "U0CONFORMANCE",
          correlation_id: requestId,
          history: [{ role: "user", text: "Good morning", user_id: "U0CONFORMANCE", ts: "1700000000.000000" }],
          session_id: `conformance-${requestId}`,
          timeout_ms: 120_000,
          callback: true,
        },
      });
    },
  },
  {
    name: "execute/attachments",
    level: "required",
    expects: "attachments: anything but a refusal of the params, even where the file cannot be read",
    async check(run) {
      const params = { text: run.texts.plain, attachments: [attachment] };
      const { answer, id } = await runTask({ run, params, id: run.newId() });
      const error = readPeerError(answer);
      const { dialect } = run.peer;
      if (error === undefined) expectResult({ answer, method: "execute_task", id });
      else if (refusals.some((reason) => hasReason({ error, reason, dialect }))) throw new Deviation(answer.came);
      return answer.came;
    },
  },
  {
    name: "execute/unknown-params",
    level: "required",
    expects: "params that are not known: ignored, and success",
    check: (run) => executeAnswered({ run, more: { x_unknown: { a: [1] }, urgency: "high" } }),
  },
  {
    name: "execute/unicode",
    level: "required",
    expects: "Japanese and emoji: success, and nothing misread in the answer",
    async check(run) {
      const params = { text: `${run.texts.plain} ${japanese}` };
      const { result, came } = await expectSuccess({ run, params, id: run.newId() });
      const misread = Buffer.from(japanese).toString("latin1").slice(0, 6);
      if (/\ufffd/.test(result.response_text) || result.response_text.includes(misread)) throw new Deviation(came);
      return came;
    },
  },
  {
    name: "execute/largest-request",
    level: "required",
    expects: "a body of exactly 256 KiB, padded by an unknown param: success",
    check(run) {
      const id = run.newId();
      const params = { channel, text: run.texts.plain, x_padding: "" };
      const bytes = Buffer.byteLength(JSON.stringify({ jsonrpc: "2.0", id, method: "execute_task", params }));
      return executeAnswered({ run, more: { x_padding: "x".repeat(maxRequestBytes - bytes) }, id });
    },
  },
  {
    name: "execute/timeout-ms",
    level: "optional",
    expects: "a slow task with a timeout_ms of one second: it ends as timeout",
    check: expectTimeout,
  },
];

const shortMs = 1000;
/** Only a task that takes longer shows that its time was ignored: the last pause between two polls counts as well. */
const tellingMs = shortMs + 3000;

async function expectTimeout(run: CaseRun): Promise<string> {
  const { peer, texts, newId, now } = run;
  const sentAtMs = now();
  const { answer, id } = await runTask({ run, params: { text: texts.slow, timeout_ms: shortMs }, id: newId() });
  if (readPeerError(answer) === undefined) {
    expectResult({ answer, method: "execute_task", id });
    if (now() - sentAtMs < tellingMs) throw new NotApplicable(`"${texts.slow}" takes too little time to tell`);
  }
  return expectError({ answer, reasons: ["timeout"], ids: [id], dialect: peer.dialect });
}

async function executeAnswered({
  run,
  more = {},
  id = run.newId(),
}: {
  run: CaseRun;
  more?: Readonly<Record<string, unknown>>;
  id?: string;
}): Promise<string> {
  const { came } = await expectSuccess({ run, params: { text: run.texts.plain, ...more }, id });
  return came;
}
