/** Cases of `execute_task`: what the Verification zone sends gets a result, and texts come through unharmed. */
import { randomUUID } from "node:crypto";
import { maxTextLength } from "@sekisho/contracts/limits.ts";
import { maxRequestBytes } from "@sekisho/contracts/methods.ts";
import type { CaseRun, ConformanceCase } from "../case.ts";
import { Deviation, NotApplicable } from "../deviation.ts";
import { expectError, expectResult, hasReason, readPeerError, readPeerResult } from "../expect.ts";
import { newLongSessionId, newSessionId } from "../peer.ts";
import {
  channel,
  type EndedTask,
  expectSuccess,
  followTask,
  markParams,
  newFile,
  newSlackId,
  newThreadTs,
  runToSuccess,
  type Succeeded,
  sendTask,
  startTask,
} from "../tasks.ts";

/** With letters that NFC would join, and others that NFKC would replace. */
const japanese = "関所を通る 🏯👩‍💻 ＡＢ１ か\u3099 e\u0301 ﬁ 終";
const newUnreadableFile = () => newFile("関所.txt");

const answers = ["execute/answers"];
const section = "`execute_task`";

export const executeCases: readonly ConformanceCase[] = [
  {
    name: "execute/answers",
    level: "required",
    section: "`success`",
    expects:
      "channel, text and session_id: a result with status success and response_text, and the id that was sent",
    advice:
      "Answer execute_task with { status: success, response_text }, or with accepted and the same by get_task later.",
    check: async ({ tasks }) => (await tasks.plain()).last.came,
  },
  {
    name: "execute/least-params",
    level: "required",
    section,
    needs: answers,
    expects: "channel and text alone: success",
    advice: "Require no param but channel and text.",
    async check(run) {
      const [requestId, sessionId] = [randomUUID(), newSessionId()];
      const params = { channel, text: run.peer.mark(run.texts.plain, sessionId) };
      return expectSuccess(
        await followTask(run, await sendTask(run, { requestId, sessionId, params })),
      ).last.came;
    },
  },
  {
    name: "execute/no-channel",
    level: "strict",
    section,
    needs: answers,
    expects: "a text without a channel: success",
    advice: "Do not require the channel. A Verification zone may be told to leave it out.",
    async check(run) {
      const [requestId, sessionId] = [randomUUID(), newSessionId()];
      const params = { session_id: sessionId, text: run.peer.mark(run.texts.plain, sessionId) };
      return expectSuccess(
        await followTask(run, await sendTask(run, { requestId, sessionId, params })),
      ).last.came;
    },
  },
  {
    name: "execute/unset-params",
    level: "required",
    section: "Envelope",
    needs: answers,
    expects: "optional params that are null or empty texts: the same as without them",
    advice:
      'Take null and "" in an optional field as absent. Serializers of many languages write them.',
    check: (run) =>
      plain(run, {
        thread_ts: null,
        user_id: "",
        attachments: null,
        history: null,
        timeout_ms: null,
      }),
  },
  {
    name: "execute/unset-members",
    level: "required",
    section: "Envelope",
    needs: answers,
    expects:
      "an attachment, an earlier message and a context whose optional members are null or empty texts: anything but a refusal of the params",
    advice: 'Take null and "" as absent at every depth, also in an attachment.',
    async check(run) {
      const attachments = [
        { ...newUnreadableFile(), sha256: null, expires_at: null },
        { ...newUnreadableFile(), sha256: "", expires_at: "" },
      ];
      const history = [
        { role: "user", text: "Again?", user_id: null, ts: "", name: null, bot: null },
      ];
      const context = { channel_name: null, channel_kind: "", channel_topic: null, open: null };
      const params = { text: run.texts.plain, attachments, history, context };
      const { last } = await followTask(run, await startTask(run, params));
      if (hasReason(last, ["invalid_params", "invalid_request"])) throw new Deviation(last.came);
      if (readPeerError(last) === undefined) expectResult(last, "execute_task");
      return last.came;
    },
  },
  {
    name: "execute/every-param",
    level: "required",
    section,
    needs: answers,
    expects: "every param that the Verification zone may send, as long as it may be: success",
    advice: "Take every param of the table in its whole length, also those that you do not use.",
    check: (run) =>
      plain(run, {
        thread_ts: newThreadTs(),
        team_id: newSlackId("T").padEnd(64, "0"),
        user_id: newSlackId("U").padEnd(64, "0"),
        correlation_id: randomUUID().padEnd(128, "-a"),
        history: [
          {
            role: "user",
            text: "関所🏯".repeat(1333),
            user_id: newSlackId("U"),
            ts: newThreadTs(),
          },
        ],
        session_id: newLongSessionId(),
        timeout_ms: 14_400_000,
        callback: true,
        bot_token: botToken,
      }),
  },
  {
    name: "execute/context",
    level: "required",
    section,
    needs: answers,
    expects:
      "a context, also with unknown members, and earlier messages with a name and of a bot: success",
    advice: "Take context, and name and bot of earlier messages. You need not use them.",
    check: (run) =>
      plain(run, {
        thread_ts: "1700000000.000100",
        history: [
          {
            role: "user",
            text: "The disk is full",
            ts: "1700000000.000100",
            name: "Alerts 🚨",
            bot: true,
          },
          {
            role: "user",
            text: "Again?",
            user_id: "U0CONFORMANCE",
            ts: "1700000001.000100",
            name: "関 Robin",
          },
        ],
        context: {
          channel_name: "関所",
          channel_kind: "private",
          channel_topic: "Incidents",
          open: [
            { type: "message", id: "1700000000.000100", channel },
            { type: "x_unknown", id: "X0CONFORMANCE", name: "A board" },
          ],
        },
      }),
  },
  {
    name: "execute/attachments",
    level: "required",
    section,
    needs: answers,
    expects:
      "attachments with long names: anything but a refusal of the params, even where the file cannot be read, and the text comes through",
    advice:
      "Take attachments with https addresses. Where a file cannot be read, answer without it, or with execution_failed.",
    async check(run) {
      const file = {
        ...newUnreadableFile(),
        name: `${"関".repeat(251)}.txt`,
        mimetype: `text/${"x".repeat(250)}`,
      };
      const task = await startTask(run, { text: run.texts.plain, attachments: [file] });
      const endedTask = await followTask(run, task);
      const { last } = endedTask;
      if (hasReason(last, ["invalid_params", "invalid_request"])) throw new Deviation(last.came);
      if (readPeerError(last) !== undefined) return last.came;
      expectResult(last, "execute_task");
      await expectText(run, endedTask);
      return last.came;
    },
  },
  {
    name: "execute/longest-lists",
    level: "required",
    section,
    needs: answers,
    expects: "20 attachments and 50 earlier messages: anything but a refusal of the params",
    advice: "Take as many attachments and messages as the table allows.",
    async check(run) {
      const attachments = Array.from({ length: 20 }, newUnreadableFile);
      const history = Array.from({ length: 50 }, (_, at) => ({
        role: at % 2 === 0 ? "user" : "assistant",
        text: "Good morning. ".repeat(50),
      }));
      const task = await startTask(run, { text: run.texts.plain, attachments, history });
      const { last } = await followTask(run, task);
      if (readPeerError(last) === undefined) expectResult(last, "execute_task");
      if (hasReason(last, ["invalid_params", "invalid_request", "payload_too_large"]))
        throw new Deviation(last.came);
      return last.came;
    },
  },
  {
    name: "execute/unknown-params",
    level: "required",
    section: "Envelope",
    needs: answers,
    expects: "params that are not known: ignored, and success",
    advice: "Ignore unknown fields. A newer Verification zone may send more than you know.",
    check: (run) => plain(run, { x_unknown: { a: [1] }, urgency: "high" }),
  },
  {
    name: "execute/unicode",
    level: "required",
    section: "Transport",
    needs: answers,
    expects: "Japanese and emoji: success, and nothing misread in the answer",
    advice: "Read and write UTF-8, without a step through another character set.",
    check: (run) => checkText(run, `${run.texts.plain} ${japanese}`),
  },
  {
    name: "execute/special-characters",
    level: "required",
    section: "Transport",
    needs: answers,
    expects:
      "line ends, quotes, markup, tabs and right-to-left text: success, and nothing changed in the answer",
    advice:
      "Treat the text as a JSON string and nothing else: no HTML escapes, no trimming, no shell, no SQL.",
    check: (run) =>
      checkText(
        run,
        `${run.texts.plain} \t"a" 'b' <b>&amp;</b> \\n {{7*7}} $HOME '; -- שלום\r\n\n  end`,
      ),
  },
  {
    name: "execute/long-text",
    level: "required",
    section,
    needs: answers,
    expects: "a text of 40,000 characters: success, and not cut short in the answer",
    advice: "Take texts of up to 40,000 characters, whole.",
    check: (run) =>
      checkText(run, `${run.texts.plain} `.padEnd(maxTextLength - 19, "関所を通る 0123 ")),
  },
  {
    name: "execute/largest-request",
    level: "required",
    section: "Bounds",
    needs: answers,
    expects: "a body of exactly 256 KiB, padded by an unknown param: success",
    advice: "Allow request bodies of 256 KiB. Many frameworks stop at 64 or 100 KiB by default.",
    async check(run) {
      const [requestId, sessionId] = [randomUUID(), newSessionId()];
      const params = {
        ...markParams(run.peer, { text: run.texts.plain }, sessionId),
        x_padding: "",
      };
      const request = { jsonrpc: "2.0", id: requestId, method: "execute_task", params };
      const padding = "x".repeat(maxRequestBytes - Buffer.byteLength(JSON.stringify(request)));
      const task = await sendTask(run, {
        requestId,
        sessionId,
        params: { ...params, x_padding: padding },
      });
      return expectSuccess(await followTask(run, task)).last.came;
    },
  },
  {
    name: "execute/timeout-ms",
    level: "strict",
    section,
    needs: answers,
    expects: "a slow task with a timeout_ms of 50 ms: it ends as timeout",
    advice:
      "Count timeout_ms from the receipt, stop the agent then, and answer with timeout (-32001).",
    async check(run) {
      const task = await run.tasks.timedOut();
      if (readPeerError(task.last) === undefined) {
        const tookMs = task.endedAtMs - task.sentAtMs;
        expectResult(task.last, "execute_task");
        if (tookMs < 1000)
          throw new NotApplicable(
            `the task "${run.texts.slow}" is too short for this case (--slow-text)`,
          );
      }
      return expectError(task.last, ["timeout"]);
    },
  },
];

/** No endpoint may say it back. */
export const botToken = "xoxb-0-conformance-0123456789abcdef";

async function plain(run: CaseRun, more: Readonly<Record<string, unknown>>): Promise<string> {
  return (await runToSuccess(run, { text: run.texts.plain, ...more })).last.came;
}

/** An agent that repeats its texts word for word shows whether they came through. */
async function checkText(run: CaseRun, text: string): Promise<string> {
  const task = await runToSuccess(run, { text });
  const { came } = task.last;
  const problem = findHarm(String(task.params.text), task.result.response_text);
  if (problem !== undefined) throw new Deviation(`${came}; ${problem}`);
  await expectText(run, task);
  return came;
}

/** An agent that repeats two other texts word for word repeats this one too. */
async function expectText(run: CaseRun, task: EndedTask): Promise<void> {
  if (isRepeated(task) || !(await repeatsTexts(run))) return;
  throw new Deviation(
    `${task.last.came}; the agent repeats other texts word for word, but not this one`,
  );
}

export async function repeatsTexts({ tasks }: CaseRun): Promise<boolean> {
  return (await Promise.all([tasks.plain(), tasks.plainAgain()])).every(isRepeated);
}

/** An agent that repeats the beginning of its text word for word must repeat all of it. */
export function expectWhole(
  { last, params }: Pick<Succeeded, "last" | "params">,
  beginning: string,
): void {
  const { response_text: answer = "" } = Object(readPeerResult(last));
  if (!String(answer).includes(beginning) || String(answer).includes(String(params.text))) return;
  throw new Deviation(
    `${last.came}; the agent repeats the beginning of its text, and not all of it`,
  );
}

function isRepeated({ params, last }: EndedTask): boolean {
  return String(Object(readPeerResult(last)).response_text).includes(String(params.text));
}

/** What a wrong character set or a wrong escape makes of a text. */
function findHarm(sentText: string, receivedText: string): string | undefined {
  const misread = Buffer.from(japanese).toString("latin1").slice(0, 6);
  if (receivedText.includes("\ufffd") || receivedText.includes(misread))
    return "characters were misread";
  const withoutOthers = (text: string) => text.replace(/[^\x20-\x7e]/gu, "");
  const questionMarks = sentText.replace(/[\u0080-\u{10ffff}]/gu, "?");
  const isLost =
    sentText !== questionMarks &&
    (receivedText.includes(questionMarks) || receivedText.includes(withoutOthers(sentText)));
  return isLost ? "characters were lost" : undefined;
}
