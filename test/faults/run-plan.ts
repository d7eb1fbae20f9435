/** Runs one plan in a world of its own, from the first message to the last thing that happens, and judges it. */
import { taskStateSchema } from "@sekisho/contracts/methods.ts";
import { readFormerEntry } from "@sekisho/sekisho/usage/former-history.ts";
import { toUsageEntry } from "@sekisho/verification/usage/entry.ts";
import type { Fate } from "./agreement.ts";
import { engineFor } from "./engines.ts";
import { createExecution } from "./execution.ts";
import { expectationOf } from "./expectation.ts";
import type { Fault, Kind } from "./faults.ts";
import { type Violation, violationsOf } from "./invariants.ts";
import { createLeaks } from "./leaks.ts";
import { type Moment, momentOf, seenUntil } from "./moments.ts";
import { createNames } from "./names.ts";
import { awayMs } from "./outages.ts";
import { writeMessages } from "./people.ts";
import type { Plan } from "./plan.ts";
import { createRandom } from "./random.ts";
import { createSimQueue, type SimQueue } from "./sim-queue.ts";
import { createSimSlack } from "./sim-slack.ts";
import { type Story, stories } from "./stories.ts";
import { createVerification } from "./verification.ts";
import { later, runUntilIdle, startTime, unheardRejections } from "./virtual-time.ts";
import { maxOperations, type Step, type World } from "./world.ts";

export type Run = {
  /** With the faults that were met. */
  plan: Plan;
  steps: readonly Step[];
  violations: readonly Violation[];
  isExempt: boolean;
};

/** Gives the operation with that number its fate. */
export type FateOf = World["fateOf"];

const startMs = 1_762_750_300_000;
const dayMs = 24 * 3600_000;
const longestMs = 96 * 3600_000;
/** The zones' clocks differ by up to 5 minutes. */
const halfSkewMs = 150_000;

/** `fateOf` is the plan's own list of faults unless something else is given. */
export async function runPlan({
  plan,
  fateOf = fromList(plan.faults),
  usualOperations,
  isTold = false,
  isChecked = true,
  from,
  onWritten = () => {},
  onExchange = () => {},
  onQueued = () => {},
}: {
  plan: Plan;
  fateOf?: FateOf;
  usualOperations?: number | undefined;
  /** The subject of each operation is looked up. */
  isTold?: boolean;
  /** Violations are looked for at the end, which renders each answer once more. */
  isChecked?: boolean;
  /** The world begins in this recorded moment, in which every process has just ended. */
  from?: Moment | undefined;
  /** A record was written to the store of that name. `moment` takes down how the world is now. */
  onExchange?: World["onExchange"];
  onQueued?: World["onQueued"];
  onWritten?: (writtenText: { store: string; json: string; moment: () => Moment }) => void;
}): Promise<Run> {
  const story = stories.find(({ name }) => name === plan.story);
  if (story === undefined) throw new Error(`There is no story "${plan.story}".`);
  const chance = createRandom(plan.seed);
  let ids = from?.ids ?? 0;
  const world: World = {
    engine: engineFor({
      name: plan.engine,
      isForeign: story.isForeign,
      isSessionOld: story.isSessionOld,
    }),
    story,
    mix: plan.mix,
    turnsTaken: new Map(),
    losses: [],
    fateOf,
    isRestless: plan.seed !== 0,
    steps: [],
    isTold,
    startMs,
    outages: plan.outages ?? [],
    pools: [],
    names: createNames(),
    leaks: createLeaks(),
    doubled: [],
    streamedAtMs: [],
    agentRuns: [],
    said: [],
    votes: [],
    isRetryTaken: false,
    ephemeralMessages: [],
    lookups: [],
    sessions: new Map(),
    homes: new Map(),
    canceledAtHome: [],
    streamsStopped: 0,
    turns: new Map(),
    acceptedAtMs: new Map(),
    endedAtMs: new Map(),
    messagesLeft: new Map(),
    questionsShownAtMs: new Map(),
    sentCalls: [],
    signatures: 0,
    from,
    stores: new Map(),
    queues: new Map(),
    onWritten: (store, json) =>
      onWritten({ store, json, moment: () => momentOf({ world, plan, slack, asked, ids }) }),
    onExchange,
    onQueued,
    ...seenUntil(from),
    newId: () => `00000000-0000-4000-8000-${String(ids++).padStart(12, "0")}`,
  };
  startTime({ atMs: from?.atMs ?? startMs, chance });
  const lean = world.isRestless ? 2 * chance() - 1 : 1;
  const slack = createSimSlack({ world });
  const completions = createSimQueue({
    world,
    name: "completions",
    point: "push.send",
    maxReceiveCount: 3,
    deadLetters: nowhere(world),
  });
  const zones = new Map(
    zoneNames(story).map((name) => [
      name,
      createExecution({ world, name, completions, skewMs: -lean * halfSkewMs }),
    ]),
  );
  const executions = [...zones.values()];
  const ofVerification = { world, slack: slack.api, zones, completions };
  const verification = createVerification({ ...ofVerification, skewMs: lean * halfSkewMs });
  const asked = writeMessages({ world, slack, ingresses: verification.ingresses });
  switchZones(world);
  const isOver = await runUntilIdle({ maxEvents: 20 * maxOperations, endMs: startMs + longestMs });
  const unheard = await unheardRejections();
  const faults = world.steps.flatMap(({ at, fate, isOutage }): Fault[] =>
    fate === undefined || isOutage ? [] : [{ at, kind: fate }],
  );
  const isExempt = slack.gone() || isSlackAwayForADay(world);
  const run = { plan: { ...plan, faults }, steps: world.steps, isExempt };
  if (!isChecked) return { ...run, violations: [] };

  const listed = executions.flatMap(({ records }) =>
    taskStateSchema.options.map((key) => records.list({ index: "state", key, limit: 1000 })),
  );
  const items = (await Promise.all(listed)).flatMap((page) => page.items);
  const fates = await Promise.all(
    asked.map(async (message): Promise<Fate> => {
      const { requestId } = message;
      const record = await verification.records.get({ id: requestId });
      const former = await verification.formerHistory.get({ id: `history:${requestId}` });
      const counts = (former && readFormerEntry(former)) ?? (record && toUsageEntry(record));
      // A peer that does not deduplicate can have taken it more than once, although it started one of them at most.
      const taken = items.filter(({ correlationId }) => correlationId === requestId);
      const executed = taken.find(({ state }) => state !== "submitted") ?? taken[0];
      const threadTs = record?.threadRef?.threadTs ?? message.threadTs;
      // The host may have forgotten its task by now; only the story of one message has files.
      const uploads = slack.posts.filter(({ fileIds }) => fileIds.length > 0);
      const posts = slack.posts.filter(
        (post) =>
          uploads.includes(post) ||
          (post.key?.requestId === requestId && (post.threadTs ?? post.ts) === threadTs),
      );
      const expectedResult = expectationOf({ message, asked, world });
      return {
        message: message,
        expected: expectedResult,
        record,
        counted: counts,
        executed,
        posts,
        zoneAheadMs: lean * halfSkewMs,
      };
    }),
  );
  const violations = violationsOf({
    world,
    fates,
    posts: slack.posts,
    waiting: [...verification.queues, ...executions.map(({ work }) => work)].reduce(
      (sum, { messages }) => sum + messages.length,
      0,
    ),
    isOver,
    isExempt,
    isShut: slack.shut() || isSlackAwayForADay(world),
    unheard,
    isHostHit:
      world.steps.some(({ zone, fate }) => zone === "execution" && fate !== undefined) ||
      world.outages.some(({ parties }) => parties.includes("execution")),
    usualOperations,
  });
  return { ...run, violations };
}

/** A delivery is given up after a day. */
function isSlackAwayForADay({ outages }: World): boolean {
  return awayMs(outages.filter(({ parties }) => parties.includes("slack"))) >= dayMs;
}

/** Zones that are off as a whole, and come back. */
function switchZones({ outages, pools }: World): void {
  for (const { parties, fromSeconds, seconds } of outages) {
    const switched = pools.filter(({ zone }) => parties.some((party) => party === zone));
    for (const { off, on } of switched) {
      later({ delayMs: 1000 * fromSeconds, run: off });
      later({ delayMs: 1000 * (fromSeconds + seconds), run: on });
    }
  }
}

/** The Execution zones that are there. */
function zoneNames({ first, hasWord, routeMovesAfterMs }: Story): string[] {
  if ((first ?? hasWord ?? routeMovesAfterMs) === undefined) return ["agents"];
  return first === "away" ? ["spare"] : ["agents", "spare"];
}

/** Takes the pushes that failed too often. Nobody reads it. */
function nowhere(world: World): SimQueue {
  return createSimQueue({ world, name: "given up pushes", point: "push.send" });
}

function fromList(faults: readonly Fault[]): FateOf {
  const byNumber = new Map<number, Kind>(faults.map(({ at, kind }) => [at, kind]));
  return ({ at, possible }) => {
    const kind = byNumber.get(at);
    return kind !== undefined && possible.includes(kind) ? { kind } : undefined;
  };
}
