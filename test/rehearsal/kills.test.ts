import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { whyNoDynamoDb } from "../doubles/aws/emulators.ts";
import { retryDelaysMs } from "../faults/real/people.ts";
import { planRun } from "../faults/real/plan.ts";
import { reportText } from "../faults/real/report.ts";
import { runPlan } from "../faults/real/run-plan.ts";
import { booksOf, zonesOf } from "./kills.ts";
import { synthesizeKind } from "./synthesized.ts";
import { readAssembly } from "./template/assembly.ts";
import { startWorld, type World } from "./world.ts";

const suite = whyNoDynamoDb === undefined ? describe : describe.skip;
const leftOut = whyNoDynamoDb === undefined ? "" : ` (left out: ${whyNoDynamoDb})`;

const seed = 1;
const tasks = 40;
const kills = 15;
const killEveryMs = 800;
const setUpMs = 90_000;
/** Beyond the deadline of a task: one whose message was lost with its sender is looked for a minute later, and may be told of then. */
const patienceMs = 100_000;
const longestMs = 180_000;

suite(`what is synthesized for lambda, its instances killed at random moments${leftOut}`, () => {
  const closing: (() => unknown)[] = [];
  let world: World;

  beforeAll(async () => {
    const nowhere = "http://127.0.0.1:9/";
    const { folder, remove } = await synthesizeKind({
      kind: "lambda",
      homeUrl: nowhere,
      elsewhereUrl: nowhere,
      execution: { leaseMs: 3000, lostAfterMs: 500 },
      limits: { callTimeoutMs: 2000, leaseMs: 3000, visibilityTimeoutMs: 4000, maxReceiveCount: 5 },
    });
    closing.push(remove);
    world = await startWorld({ assembly: readAssembly({ folder }), visibilitySeconds: 4, retryDelaysMs });
    closing.push(world.close);
  }, setUpMs);

  afterAll(async () => {
    for (const step of closing.reverse()) await step();
  });

  it(
    "answers every message once and starts no agent twice",
    async () => {
      const books = booksOf({ world });
      closing.push(books.close);
      const report = await runPlan({
        plan: planRun({ seed, tasks, kills, killEveryMs }),
        signal: AbortSignal.timeout(longestMs - 10_000),
        fakeSlack: world.fakeSlack,
        zones: zonesOf({ world, seed }),
        books,
        patienceMs,
        secrets: { SLACK_SIGNING_SECRET: "", ...world.secrets },
      });
      process.stdout.write(`${reportText({ seed, report })}\n`);
      expect(report.violations).toEqual([]);
      expect(Math.min(report.kills.verification, report.kills.execution)).toBeGreaterThan(0);
      expect(report.outcomes.answer).toBeGreaterThan(tasks / 4);
    },
    longestMs,
  );
});
