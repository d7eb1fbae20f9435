/**
 * Plays stories in the checkout that is the working directory, and writes a line of JSON about the end of each. With a seed and a number of
 * runs, chance draws them. Otherwise their plans are the lines of standard input.
 */
import { hash } from "node:crypto";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { drawFaults, seedOf } from "../../../faults/draw.ts";
import type { Moment } from "../../../faults/moments.ts";
import type { Plan } from "../../../faults/plan.ts";
import type { FateOf } from "../../../faults/run-plan.ts";
import type { Step } from "../../../faults/world.ts";

export type PlayedStory = {
  plan: string;
  /** A digest of all calls in their order and their faults. Their subjects have other names in another checkout. */
  calls: string;
  /** What people see at the end. */
  sight: readonly unknown[];
  violations: readonly string[];
};

type Faults = "engines" | "plan" | "run-plan" | "search" | "stories" | "virtual-time";

function load(name: Faults) {
  return import(pathToFileURL(join(process.cwd(), `test/faults/${name}.ts`)).href);
}

const { installVirtualTime }: typeof import("../../../faults/virtual-time.ts") =
  await load("virtual-time");
installVirtualTime();
const { runPlan }: typeof import("../../../faults/run-plan.ts") = await load("run-plan");
const { compact, parsePlan }: typeof import("../../../faults/plan.ts") = await load("plan");
const { usualRun }: typeof import("../../../faults/search.ts") = await load("search");

const [seed, runs] = process.argv.slice(2).map(Number);
if (seed !== undefined && runs !== undefined) await playDrawn(seed, runs);
else
  for await (const line of createInterface({ input: process.stdin })) await play(parsePlan(line));

async function playDrawn(seed: number, runs: number): Promise<void> {
  const { engineNames }: typeof import("../../../faults/engines.ts") = await load("engines");
  const { stories }: typeof import("../../../faults/stories.ts") = await load("stories");
  const places = stories.flatMap(({ name }) =>
    engineNames.map((engine) => ({ story: name, engine })),
  );
  for (let number = 0; number < runs; number += 1) {
    const place = places[number % places.length];
    if (place === undefined) return;
    const ownSeed = seedOf({ seed, number });
    const { fateOf, outages } = drawFaults({ seed: ownSeed, usual: await usualRun(place) });
    await play({ ...place, seed: ownSeed, faults: [], outages }, fateOf);
  }
}

async function play(plan: Plan, fateOf?: FateOf): Promise<void> {
  const usualOperations = (await usualRun(plan)).steps.length;
  let moment: (() => Moment) | undefined;
  const onWritten = (written: { moment: () => Moment }) => {
    moment = written.moment;
  };
  const options = { plan, usualOperations, isTold: true, onWritten, ...(fateOf && { fateOf }) };
  const { steps, violations, ...run } = await runPlan(options);
  const calls = steps.map(({ process, point, fate }) => [process, point, fate]);
  const played: PlayedStory = {
    plan: compact(run.plan),
    calls: hash("sha1", JSON.stringify(calls)),
    // Without a record, no zone has done anything.
    sight: moment === undefined ? [] : [...postsIn(moment()), reactionsIn(steps)],
    violations: violations.map(({ invariant, detail }) => `${invariant} (${detail})`),
  };
  process.stdout.write(`${JSON.stringify(played)}\n`);
}

/** Times and ids are left out, because they say nothing to a person. */
function postsIn({ slack, seen, seenByKey }: Moment): unknown[] {
  const said = seen.said.map((message) => ({ ...message, blocks: [], streams: false }));
  const posts = [...said, ...slack.posts].sort((a, b) => Number(a.ts) - Number(b.ts));
  const order = posts.map(({ ts }) => ts);
  // Only what a person sees, because the double of Slack in another checkout may keep other things.
  const shownPosts = posts.map(({ threadTs, fileIds, ...post }) => {
    const { from, user, channel, text, blocks, streams } = post;
    const thread = threadTs === undefined ? undefined : order.indexOf(threadTs);
    const files = fileIds.length;
    return { from, user, channel, thread, blocks, streams, files, ...(files === 0 && { text }) };
  });
  const { votes, isRetryTaken, ephemeralMessages, canceledAtHome } = seen;
  const readers = ephemeralMessages.map(({ user }) => user);
  const sessions = seenByKey.sessions.map(([thread, { status }]) => [thread, status]);
  const homes = JSON.stringify(seenByKey.homes).replace(/<!date\^[^>]*>/g, "");
  return [...shownPosts, { votes, isRetryTaken, readers, canceledAtHome, sessions, homes }];
}

function reactionsIn(steps: readonly Step[]): string[] {
  const reactions = new Set<string>();
  for (const { point, about, doneIn } of steps) {
    if (point !== "slack.react" || doneIn === undefined) continue;
    if (about.startsWith("+")) reactions.add(about.slice(1));
    else reactions.delete(about.slice(1));
  }
  return [...reactions];
}
