/** Cases of the values in results: times, addresses and sizes that the Verification zone can work with, and no empty answers. */

import { maxResultBytes } from "@sekisho/contracts/limits.ts";
import { isLoopbackHost } from "@sekisho/contracts/loopback.ts";
import { artifactSchema, progressSchema } from "@sekisho/contracts/methods.ts";
import { isPublicHost } from "@sekisho/runtime/public-fetch/reach.ts";
import type { CaseRun, ConformanceCase } from "../case.ts";
import { Deviation, NotApplicable } from "../deviation.ts";
import { isSet, readPeerResult } from "../expect.ts";
import type { Observation } from "../peer.ts";
import { isWithin, maxPollAfterMs } from "./sums.ts";

// biome-ignore lint/suspicious/noExplicitAny: results may have any shape, and each judge looks at one member
type Result = any;
type Judge = (result: Result, observation: Observation, run: CaseRun) => string | undefined;

function toBoundCase(
  name: string,
  statuses: readonly string[],
  parts: Pick<ConformanceCase, "section" | "expects" | "advice"> & {
    judge: Judge;
    level?: "strict";
  },
): ConformanceCase {
  const { section, expects, advice, judge, level = "required" } = parts;
  return {
    name: `bounds/${name}`,
    level,
    section,
    expects,
    advice,
    sumsUp: true,
    async check(run) {
      const answersInState = run.observations.flatMap((observation) => {
        const result: Result = withoutUnset(readPeerResult(observation.answer));
        return statuses.includes(result?.status) ? [{ observation, result }] : [];
      });
      if (answersInState.length === 0)
        throw new NotApplicable(`no result with the status ${statuses.join(" or ")} came`);
      for (const { observation, result } of answersInState) {
        const problem = judge(result, observation, run);
        if (problem === undefined) continue;
        run.step(`${observation.caseName}, ${observation.method}`);
        throw new Deviation(`${observation.answer.came}; ${problem}`);
      }
      return `${answersInState.length} results, none of which breaks this`;
    },
  };
}

/** Leaves out members that are null or empty texts. An artifact may have an empty text as its only content. */
function withoutUnset(result: Result): Result {
  if (typeof result !== "object" || result === null || Array.isArray(result)) return result;
  const members = Object.entries(result).filter(([, value]) => isSet(value));
  const { artifacts, usage, ...otherMembers } = Object.fromEntries(members);
  return {
    ...otherMembers,
    ...(artifacts !== undefined && {
      artifacts: Array.isArray(artifacts) ? artifacts.map(withOneContent) : artifacts,
    }),
    ...(usage !== undefined && { usage: withoutUnset(usage) }),
  };
}

function withOneContent(artifact: Result): Result {
  const { text, base64, ...artifactMembers } = Object(artifact);
  const others = withoutUnset(artifactMembers);
  const [content] = [text, base64].filter(isSet);
  if (content !== undefined || others.data !== undefined || others.url !== undefined) {
    return { ...others, ...(isSet(text) && { text }), ...(isSet(base64) && { base64 }) };
  }
  if (text === "") return { ...others, text };
  if (base64 === "") return { ...others, base64 };
  return artifactMembers.data === null ? { ...others, data: null } : others;
}

const minuteMs = 60_000;
const yearMs = 366 * 24 * 3600_000;

/** Compared with the endpoint's own clock where it sends one, because clocks differ by minutes. */
function judgeExpiry(value: unknown, { answer }: Observation, minMs: number): string | undefined {
  if (value === undefined) return undefined;
  const atMs = Date.parse(String(value));
  const nowMs = Date.parse(answer.headers?.date ?? "");
  if (Number.isNaN(atMs)) return "expires_at is no time";
  // Without its clock, five minutes of difference are allowed.
  const leftMs = Number.isNaN(nowMs) ? atMs - Date.now() + 5 * minuteMs : atMs - nowMs + 1000;
  if (leftMs < minMs) return `expires_at is less than ${minMs / 1000} s ahead`;
  return leftMs > yearMs + 5 * minuteMs ? "expires_at is more than a year ahead" : undefined;
}

export const boundCases: readonly ConformanceCase[] = [
  toBoundCase("poll-after", ["accepted"], {
    section: "`accepted`",
    expects: "poll_after_ms: an integer from 0 to 15 minutes",
    advice: "Say in milliseconds how long to wait until the next poll, or leave it out.",
    judge: ({ poll_after_ms: ms }) =>
      ms === undefined || isWithin(ms, { min: 0, max: maxPollAfterMs })
        ? undefined
        : `poll_after_ms is ${ms}`,
  }),
  toBoundCase("late-poll", ["accepted"], {
    level: "strict",
    section: "`accepted`",
    expects: "poll_after_ms above a minute: only of a task that does not end within that minute",
    advice: "Ask for the next poll when news is likely. A person waits for the answer until then.",
    judge({ poll_after_ms: ms, task_id: taskId }, { atMs }, { observations }) {
      const isEnd = ({ params, answer }: Observation) =>
        Object(params).task_id === taskId &&
        isSet(readPeerResult(answer)) &&
        Object(readPeerResult(answer)).status === "success";
      const end =
        ms > minuteMs ? observations.find((one) => one.atMs > atMs && isEnd(one)) : undefined;
      return end !== undefined && end.atMs - atMs < minuteMs
        ? `the task was over ${Math.ceil((end.atMs - atMs) / 1000)} s later`
        : undefined;
    },
  }),
  toBoundCase("expires-at", ["accepted"], {
    section: "`accepted`",
    expects:
      "expires_at of a task: at least a minute and its poll_after_ms ahead, and at most a year",
    advice:
      "Keep tasks for hours after their end, and say until when. The Verification zone may poll minutes later.",
    judge: ({ expires_at, poll_after_ms: ms }, seenTask) =>
      judgeExpiry(expires_at, seenTask, Math.max(minuteMs, Number(ms ?? 0) || 0)),
  }),
  toBoundCase("question-expires-at", ["input_required"], {
    section: "`input_required`",
    expects: "expires_at of a question: at least a minute ahead, and at most a year",
    advice: "Give people time to answer. Without expires_at the destination's settings count.",
    judge: ({ expires_at }, seenTask) => judgeExpiry(expires_at, seenTask, minuteMs),
  }),
  toBoundCase("empty-answer", ["success"], {
    section: "`success`",
    expects: "response_text: not blank, unless there are artifacts",
    advice: "Answer with a text, or with an error that says that there is none.",
    judge({ response_text: text, artifacts }) {
      const hasFiles = Array.isArray(artifacts) && artifacts.length > 0;
      const isBlank = typeof text === "string" && text.replace(/[\s\p{Cf}\p{Cc}]/gu, "") === "";
      return isBlank && !hasFiles ? "response_text is blank" : undefined;
    },
  }),
  toBoundCase("result-size", ["success"], {
    section: "Bounds",
    expects:
      "response_text and inline artifacts: together at most 256 KiB, and at most 100 artifacts",
    advice: "Send larger files by url, and end a task with more text as payload_too_large.",
    judge({ response_text: text, artifacts = [] }) {
      const files = Array.isArray(artifacts) ? artifacts : [];
      const inline = files.flatMap((file) => [file?.text, file?.base64, file?.data]);
      const bytes = [text, ...inline].reduce((sum, part) => sum + sizeOf(part), 0);
      if (bytes > maxResultBytes) return `the result has ${bytes} bytes`;
      return files.length > 100 ? `there are ${files.length} artifacts` : undefined;
    },
  }),
  toBoundCase("artifacts", ["success"], {
    section: "`success`",
    expects:
      "each artifact: one of text, base64, data and url; an image or PDF in base64 has the bytes of its type; a url is public https without credentials",
    advice:
      "Give each file one content, whole and byte by byte. Files by url need https, and no user name or password in it.",
    judge({ artifacts = [] }, _seenTask, { peer }) {
      const problems = (Array.isArray(artifacts) ? artifacts : []).map((one) =>
        judgeArtifact(one, peer.isLocal),
      );
      return problems.find((problem) => problem !== undefined);
    },
  }),
  toBoundCase("usage", ["success"], {
    section: "`success`",
    expects: "usage: input_tokens, output_tokens and total_tokens are integers from 0 on",
    advice: "Count tokens as integers, or leave usage out.",
    judge({ usage }) {
      const counts = ["input_tokens", "output_tokens", "total_tokens"].map((name) => usage?.[name]);
      const isCount = (value: unknown) =>
        value === undefined || isWithin(value, { min: 0, max: 1e15 });
      return counts.every(isCount) ? undefined : "a count of usage is no integer from 0 on";
    },
  }),
  toBoundCase("steps", ["accepted"], {
    section: "`accepted`",
    expects:
      "steps of a running task: at most 50, each with an id, a title and a status; no id twice",
    advice: "Send every step of the work once, in its order. See the table of steps.",
    judge({ progress }) {
      const { steps } = Object(progress);
      if (steps === undefined || steps === null) return undefined;
      const { data } = progressSchema.shape.steps.safeParse(steps);
      if (data === undefined) return "the steps do not fit their schema";
      return new Set(data.map(({ id }) => id)).size < data.length
        ? "two steps have one id"
        : undefined;
    },
  }),
  toBoundCase("lists", ["input_required"], {
    section: "Bounds",
    expects: "options of a question: at most 100",
    advice: "Offer fewer options, or ask for a text.",
    judge: ({ options }) =>
      Array.isArray(options) && options.length > 100
        ? `there are ${options.length} options`
        : undefined,
  }),
];

function sizeOf(part: unknown): number {
  if (part === undefined) return 0;
  return Buffer.byteLength(typeof part === "string" ? part : JSON.stringify(part));
}

/** How files of a type begin, and what is at their end, in Latin-1. */
const typeBytes: Readonly<Record<string, readonly [head: string, tail: string]>> = {
  "image/png": ["\x89PNG\r\n\x1a\n", "IEND\xaeB`\x82"],
  "image/jpeg": ["\xff\xd8\xff", "\xff\xd9"],
  "image/gif": ["GIF8", ";"],
  "application/pdf": ["%PDF-", "%%EOF"],
};

/** True of a type that is not recognized. */
function isOfType(bytes: Buffer, mimetype: unknown): boolean {
  const [head, tail] = typeBytes[String(mimetype)] ?? ["", ""];
  const text = bytes.toString("latin1");
  return text === "" || (text.startsWith(head) && text.includes(tail));
}

function judgeArtifact(artifact: unknown, isLocal: boolean): string | undefined {
  if (!artifactSchema.safeParse(artifact).success) return "an artifact does not fit its schema";
  const { text, base64, data, url, mimetype } = Object(artifact);
  const contents = [text, base64, data, url].filter((one) => one !== undefined);
  if (contents.length !== 1) return `an artifact has ${contents.length} contents`;
  if (base64 !== undefined && !isOfType(Buffer.from(String(base64), "base64"), mimetype))
    return `an artifact is no ${mimetype}`;
  if (url === undefined) return undefined;
  const parsedUrl = URL.parse(String(url));
  if (parsedUrl === null) return "an artifact's url is none";
  if (parsedUrl.username !== "" || parsedUrl.password !== "")
    return "an artifact's url holds credentials";
  const isLoopback = isLoopbackHost(parsedUrl.hostname);
  if (!isLoopback && !isPublicHost(parsedUrl.hostname)) return "an artifact's url is not public";
  if (parsedUrl.protocol === "https:" && (!isLoopback || isLocal)) return undefined;
  return isLocal && isLoopback && parsedUrl.protocol === "http:"
    ? undefined
    : "an artifact's url is not public https";
}
