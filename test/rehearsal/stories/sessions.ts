/** Stories of AgentCore: it ends a session, refuses a new one, or fails. */
import { clock } from "../clock.ts";
import { quiet } from "../stage.ts";
import type { World } from "../world.ts";
import { answer, logged } from "./messages.ts";

/** The session idles out between two messages of a thread. Resolves to the sessions that started for the second one. */
export async function endSessionBetween(world: World): Promise<number> {
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

/** The quota refuses new sessions at first. Resolves to the number of refused calls. */
export async function exceedSessionQuota(world: World): Promise<number> {
  const { activeSessions } = world.quotas;
  world.quotas.activeSessions = 0;
  return duringRefusals(world, "beyond the quota", () => {
    world.quotas.activeSessions = activeSessions;
  });
}

/** AgentCore fails at first. Resolves to the number of failed calls. */
export async function takeAgentCoreDown(world: World): Promise<number> {
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
