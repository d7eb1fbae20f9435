/**
 * The conformance run: checks whether an Execution endpoint keeps docs/reference/contract.md. Public entry of the package. It imports only
 * `contracts/` and `lambdas/runtime/`, so that it can be bundled into one file.
 */
import type { Dialect } from "@sekisho/contracts/dialects.ts";
import { isLoopbackHost } from "@sekisho/contracts/loopback.ts";
import { abortable } from "@sekisho/runtime/async/waiting.ts";
import { type AskerZone, createTestAsker, type TestAsker, withAskerTokens } from "./asker.ts";
import type { CaseRun, ConformanceCase, Profile } from "./case.ts";
import { conformanceCases } from "./cases/all.ts";
import { Deviation, NotApplicable } from "./deviation.ts";
import { type FileServer, startFileServer } from "./file-server.ts";
import { maskTokens } from "./mask.ts";
import { createPeer, type Peer, sleep } from "./peer.ts";
import { probe } from "./probe.ts";
import { type Authorize, createHttpSender, type Sender } from "./sender.ts";
import { createSharedTasks, type Texts, type Waits } from "./tasks.ts";

export type Level = "required" | "strict";

export type CaseReport = {
  name: string;
  level: "required" | "strict" | "leak";
  outcome: "passed" | "failed" | "skipped";
  expected: string;
  /** For a skipped case: why. */
  came: string;
  /** The step that failed, the latest request, where the contract says so, and what to do. Of failed cases only. */
  step?: string;
  sent?: string;
  contract?: string;
  advice?: string;
  durationMs: number;
};

export type ConformanceReport = {
  level: Level;
  profile: Profile;
  /** True if no case failed that counts at this level. */
  kept: boolean;
  cases: readonly CaseReport[];
  durationMs: number;
  /** How long the run waited for nothing but the second look. */
  waitedMs: number;
};

export const defaultTexts: Texts = {
  plain: "Good morning.",
  slow: "slow 22s",
  stream: "stream, plan, slow 22s",
  fail: "fail",
  ask: "ask me",
  questions: "ask twice",
  form: "ask form",
  approval: "ask approval",
  file: "read files, file, image",
};

const defaultWaits: Waits = {
  secondLookMs: 8_000,
  lastLookMs: 30_000,
  pollMs: { min: 50, usual: 500, max: 1000 },
  lateAnswer: { timeoutMs: 20_000, answerMs: 22_000 },
  hangUpMs: 200,
  retryMs: 500,
};

export const defaultBudgetMs = 120_000;

export type ConformanceOptions = {
  sender: Sender;
  dialect?: Dialect;
  texts?: Partial<Texts>;
  level?: Level;
  profile?: Profile;
  /** True if the endpoint is declared to deduplicate by request id. */
  isIdempotent?: boolean;
  /** Present if the endpoint verifies who asked. Each request then has a token. */
  asker?: AskerZone | undefined;
  /** False leaves out the cases that look at a task once more after its end. */
  hasSecondLook?: boolean;
  /** The longest time for the whole run. */
  budgetMs?: number;
  callTimeoutMs?: number;
  maxConcurrentCalls?: number;
  waits?: Partial<Waits>;
  cases?: readonly ConformanceCase[];
  /** Ends the run without a report. */
  interrupt?: AbortSignal;
  onCase?: (report: CaseReport) => void;
};

/** Resolves to the report, or to `unreachable` if there is nothing to test. Rejects only when it is interrupted. */
export async function runConformance(
  options: ConformanceOptions,
): Promise<ConformanceReport | { unreachable: string }> {
  const {
    asker,
    level = "required",
    profile = "https",
    isIdempotent = false,
    hasSecondLook = true,
  } = options;
  const sender = asker === undefined ? options.sender : withAskerTokens(options.sender, asker);
  const { budgetMs = defaultBudgetMs, interrupt = new AbortController().signal } = options;
  const waits = { ...defaultWaits, ...options.waits };
  const timeOver = AbortSignal.timeout(budgetMs);
  const signal = AbortSignal.any([interrupt, timeOver]);
  const now = () => performance.now();
  const startedAtMs = now();
  const peer = createPeer({
    sender,
    dialect: options.dialect ?? "zone",
    callTimeoutMs: options.callTimeoutMs ?? 30_000,
    retryMs: waits.retryMs,
    maxConcurrentCalls: options.maxConcurrentCalls ?? 8,
    signal,
    now,
  });
  const files = sender.isLocal ? await startFileServer() : undefined;
  try {
    const unreachable = await probe(peer).catch((error: unknown) => {
      interrupt.throwIfAborted();
      if (timeOver.aborted) return "It did not answer within the budget of the run.";
      throw error;
    });
    if (unreachable !== undefined) return { unreachable };
    const cases = (options.cases ?? conformanceCases).filter(
      (one) => (one.profile ?? profile) === profile && (!one.needsAsker || asker !== undefined),
    );
    const schedule = createSchedule({
      ...options,
      sender,
      asker: asker && createTestAsker(asker),
      peer,
      files,
      waits,
      isIdempotent,
      hasSecondLook,
      signal,
      timeOver,
      now,
    });
    const reports = await schedule(cases);
    interrupt.throwIfAborted();
    const isConforming = !reports.some((report) => isFailure(report, level));
    const durationMs = now() - startedAtMs;
    const busyMs = Math.max(
      ...reports.filter(({ isIdle }) => !isIdle).map(({ endedAtMs }) => endedAtMs - startedAtMs),
      0,
    );
    const plain = reports.map(({ isIdle: _isIdle, endedAtMs: _endedAtMs, ...report }) => report);
    return {
      level,
      profile,
      kept: isConforming,
      cases: plain,
      durationMs,
      waitedMs: Math.max(durationMs - busyMs, 0),
    };
  } finally {
    await files?.close();
  }
}

export type EndpointOptions = Omit<ConformanceOptions, "sender"> & {
  /** https, or http on loopback. */
  url: URL;
  /** The bearer token of the caller. Absent for an endpoint on loopback that asks for none. */
  token?: string | undefined;
  /** The bearer token of a second caller, who must not see the tasks of the first. */
  anotherToken?: string | undefined;
};

/** Runs the cases against a URL. */
export async function checkEndpoint(options: EndpointOptions): ReturnType<typeof runConformance> {
  const { url, token, anotherToken, ...runOptions } = options;
  const bearer = (value: string | undefined): Authorize | undefined =>
    value === undefined
      ? undefined
      : async () => ({ headers: { authorization: `Bearer ${value}` } });
  const isLocal = isLoopbackHost(url.hostname);
  const sender = createHttpSender({
    url,
    authorize: bearer(token),
    authorizeAnother: bearer(anotherToken),
    isLocal,
  });
  try {
    return await runConformance({ ...runOptions, sender });
  } finally {
    await sender.close();
  }
}

/** True if the case failed and fails the run. Leaks do at every level. */
export function isFailure(
  { level: own, outcome }: Pick<CaseReport, "level" | "outcome">,
  level: Level,
): boolean {
  return outcome === "failed" && (level === "strict" || own !== "strict");
}

/** `isIdle`: the case waits for something, and its end says nothing about how busy the run was. */
type TimedReport = CaseReport & { isIdle: boolean; endedAtMs: number };

type ScheduleOptions = {
  sender: Pick<Sender, "sentTokens">;
  asker: TestAsker | undefined;
  peer: Peer;
  files: FileServer | undefined;
  texts?: Partial<Texts>;
  waits: Waits;
  isIdempotent: boolean;
  hasSecondLook: boolean;
  signal: AbortSignal;
  timeOver: AbortSignal;
  now: () => number;
  onCase?: (report: CaseReport) => void;
};

/** Runs cases side by side, each as soon as those that it needs have passed. The cases that sum up run last. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: listed until it is cut along its topics.
function createSchedule(options: ScheduleOptions) {
  const {
    sender,
    asker,
    peer,
    files,
    waits,
    isIdempotent,
    hasSecondLook,
    signal,
    timeOver,
    now,
    onCase = () => {},
  } = options;
  const texts = { ...defaultTexts, ...options.texts };
  const base = { waits, now, sleep: (ms: number) => sleep(ms, signal), files, texts, isIdempotent };
  const tasks = createSharedTasks({ ...base, openPeer: () => peer.forCase("shared task") }, texts);
  const sharedParts = {
    ...base,
    asker,
    tasks,
    observations: peer.observations,
    findMark: peer.findMark,
  };

  async function runOne(
    one: ConformanceCase,
    earlierReports: ReadonlyMap<string, Promise<TimedReport>>,
  ): Promise<TimedReport> {
    const { name, expects: expectation, level, isSecondLook = false, sumsUp = false } = one;
    const reportedLevel = level === "idempotent" ? (isIdempotent ? "required" : "strict") : level;
    let startedAtMs = now();
    const report = (
      result: Pick<CaseReport, "outcome" | "came"> & Partial<CaseReport>,
    ): TimedReport => {
      const endedAtMs = now();
      const maskedEntries = Object.entries(result).map(([key, text]) => [
        key,
        maskTokens(String(text), sender.sentTokens()),
      ]);
      const maskedResult = Object.fromEntries(maskedEntries) as typeof result;
      const whole = {
        name,
        level: reportedLevel,
        expected: expectation,
        ...maskedResult,
        durationMs: endedAtMs - startedAtMs,
      } as const;
      onCase(whole);
      return { ...whole, isIdle: isSecondLook || sumsUp, endedAtMs };
    };
    if (isSecondLook && !hasSecondLook)
      return report({ outcome: "skipped", came: "there is no second look (--no-second-look)" });
    await Promise.all((one.after ?? []).map((other) => earlierReports.get(other)));
    for (const other of one.needs ?? []) {
      const neededReport = await earlierReports.get(other);
      if (neededReport === undefined || neededReport.outcome === "passed") continue;
      // The reason of a skipped case is repeated, so that all cases that it holds up name the first cause.
      const came = neededReport.outcome === "failed" ? `${other} failed` : neededReport.came;
      return report({ outcome: "skipped", came });
    }
    startedAtMs = now();
    let step: string | undefined;
    const own = peer.forCase(name);
    const run: CaseRun = { ...sharedParts, peer: own, step: (what) => (step = what) };
    try {
      // A case that sums up calls nobody. It judges what came, also where the budget is used up.
      const promise = one.check(run);
      return report({
        outcome: "passed",
        came: await (sumsUp ? promise : abortable({ promise, signal })),
      });
    } catch (error) {
      if (error instanceof NotApplicable)
        return report({ outcome: "skipped", came: error.message });
      const sentRequest = (error instanceof Deviation ? error.sent : undefined) ?? own.lastSent();
      const more = {
        ...(step !== undefined && { step }),
        ...(sentRequest !== undefined && { sent: sentRequest }),
        contract: `docs/reference/contract.md, ${one.section.replaceAll("`", "")}`,
        advice: one.advice,
      };
      if (error instanceof Deviation)
        return report({ outcome: "failed", came: error.message, ...more });
      if (timeOver.aborted)
        return report({
          outcome: "failed",
          came: "the budget of the run was used up (--budget)",
          ...more,
        });
      if (signal.aborted) throw error;
      return report({
        outcome: "failed",
        came: `the case itself broke down on this answer (${Object(error).name})`,
        ...more,
      });
    }
  }

  return async (cases: readonly ConformanceCase[]): Promise<TimedReport[]> => {
    const reports = new Map<string, Promise<TimedReport>>();
    const start = (one: ConformanceCase) => {
      const { promise, resolve, reject } = Promise.withResolvers<TimedReport>();
      reports.set(one.name, promise);
      promise.catch(() => {});
      return () => runOne(one, reports).then(resolve, reject);
    };
    const [last, first] = [
      cases.filter(({ sumsUp }) => sumsUp),
      cases.filter(({ sumsUp }) => !sumsUp),
    ];
    // All are known before the first one begins, because each may wait for a later one.
    for (const begin of first.map(start)) void begin();
    await Promise.all(reports.values());
    for (const begin of last.map(start)) await begin();
    return Promise.all(cases.map(({ name }) => reports.get(name))).then((all) =>
      all.filter((one) => one !== undefined),
    );
  };
}
