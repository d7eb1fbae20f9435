/** What becomes of tasks where AgentCore ends a session, refuses a new one, or fails. Each resolves when the thread has its answer. */
import { clock } from "./clock.ts";
import { quiet } from "./stage.ts";
import { answer, logged } from "./stories.ts";
import type { World } from "./world.ts";

/** Two messages of one thread. The session ends between them, since nobody used it. Resolves to the starts of the session. */
export async function isEndedBetween(world: World): Promise<number> {
  const { fakeSlack, eventsUrl, runtimes } = world;
  const first = fakeSlack.ask({ eventsUrl, text: "before the session ends" });
  await answer(world, first.message, /before the session ends/);
  // Nothing may be at work when the clock moves.
  await quiet(world);
  const startsBefore = sessionsStarted(world);
  const [runtime] = runtimes.values();
  if (runtime === undefined) throw new Error("No template has a runtime.");
  await clock.advance((runtime.runtime.lifecycle.idleSeconds + 1) * 1000);
  await runtime.expire();
  fakeSlack.reply({ eventsUrl, text: "after the session ended", threadTs: first.message.ts });
  await world.until("answer of a new session", () =>
    world
      .answersTo(first.message)
      .find(({ text, user }) => user !== first.message.user && /after the session/.test(text)),
  );
  return sessionsStarted(world) - startsBefore;
}

/** New sessions are refused by the quota at first. Resolves to the calls that were refused. */
export async function isBeyondQuota(world: World): Promise<number> {
  const { activeSessions } = world.quotas;
  world.quotas.activeSessions = 0;
  return duringRefusals(world, "beyond the quota", () => {
    world.quotas.activeSessions = activeSessions;
  });
}

/** AgentCore fails at first. Resolves to the calls that failed. */
export async function isAway(world: World): Promise<number> {
  world.agentCore.isDown = true;
  return duringRefusals(world, "while it is away", () => {
    world.agentCore.isDown = false;
  });
}

async function duringRefusals(world: World, text: string, end: () => void): Promise<number> {
  const { message, requestId } = world.ask({ text });
  const isFailed = () =>
    logged(world, { request_id: requestId }).filter(
      ({ message: what, operation }) => what === "call_failed" && operation === "execute_task",
    ).length;
  try {
    await world.until(`failed call of "${text}"`, () => (isFailed() > 0 ? true : undefined));
  } finally {
    end();
  }
  await world.skipUntil(`answer to "${text}"`, () =>
    world.answersTo(message).find((post) => post.text.includes(text)) === undefined ? undefined : true,
  );
  return isFailed();
}

function sessionsStarted({ metrics }: World): number {
  const ids = metrics
    .ids()
    .filter(({ namespace, name }) => namespace === "AWS/Bedrock-AgentCore" && name === "SessionCount");
  return ids.flatMap((id) => metrics.samples(id)).reduce((sum, { value }) => sum + value, 0);
}
