/** Stories of AgentCore: it ends a session, refuses a new one, or fails. */
import type { Fault } from "../aws/gateway.ts";
import { clock } from "../clock.ts";
import { quiet } from "../stage.ts";
import type { World } from "../world.ts";
import { answer, logged, withFault } from "./messages.ts";
import { changeRoutes } from "./routes.ts";

/** The session idles out between two messages of a thread. Resolves to the sessions that started for the second one. */
export async function endSessionBetween(world: World): Promise<number> {
  const { fakeSlack, eventsUrl } = world;
  const first = fakeSlack.ask({ eventsUrl, text: "before the session ends" });
  await answer(world, first.message, /before the session ends/);
  // Nothing may be at work when the clock moves.
  await quiet(world);
  const startsBefore = sessionsStarted(world);
  const runtime = onlyRuntime(world);
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

/**
 * Runs two tasks in virtual time: one of 20 minutes and one of two hours. Early on, wake-ups are late by three times the idle time, so
 * that only `/ping` keeps the sessions alive. Resolves to the sessions that started for both, and to the answers, starts and polls of each.
 */
export async function outlastIdleTime(world: World) {
  await changeRoutes(world, "long");
  const sessions = () => logged(world, { message: "server_listens" }).length;
  const sessionsBefore = sessions();
  const posts = [20, 120].map((minutes) => ({
    minutes,
    ...world.ask({ text: `slow ${minutes * 60}s, ${minutes} minutes` }),
  }));
  const countOf = (requestId: string, wanted: Record<string, unknown>) =>
    logged(world, { request_id: requestId, ...wanted }).length;
  const pollsOf = (requestId: string) =>
    countOf(requestId, { message: "call_answered", operation: "get_task" });
  await world.until("first polls", () =>
    posts.every(({ requestId }) => pollsOf(requestId) > 0) ? true : undefined,
  );
  const silenceSeconds = 3 * onlyRuntime(world).runtime.lifecycle.idleSeconds;
  const beLate: Fault = ({ call: { action, input } }) => {
    const isWakeUp = posts.some(({ requestId }) => String(input.MessageBody).includes(requestId));
    if (action === "sqs:SendMessage" && isWakeUp) input.DelaySeconds = silenceSeconds;
    return undefined;
  };
  const silentUntilMs = Date.now() + silenceSeconds * 1000;
  await withFault(world, beLate, () =>
    world.skipUntil("end of the silence", () => (Date.now() >= silentUntilMs ? true : undefined)),
  );
  const isOver = (requestId: string) =>
    countOf(requestId, { message: "task_step", state: "done" }) > 0;
  for (const { minutes, requestId } of posts) {
    // One poll at a time, because each wait has a limit in real time.
    while (!isOver(requestId)) {
      const polls = pollsOf(requestId);
      await world.skipUntil(`next poll of the task of ${minutes} minutes`, () =>
        pollsOf(requestId) > polls || isOver(requestId) ? true : undefined,
      );
    }
  }
  return {
    sessions: sessions() - sessionsBefore,
    tasks: posts.map(({ minutes, message, requestId }) => ({
      minutes,
      answers: world.answersTo(message).map(({ text }) => text),
      starts: countOf(requestId, { message: "task_started" }),
      polls: pollsOf(requestId),
    })),
  };
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
    world.answersTo(message).find((post) => post.text.includes(text)) === undefined
      ? undefined
      : true,
  );
  return isFailed();
}

function sessionsStarted({ metrics }: World): number {
  const ids = metrics
    .ids()
    .filter(
      ({ namespace, name }) => namespace === "AWS/Bedrock-AgentCore" && name === "SessionCount",
    );
  return ids.flatMap((id) => metrics.samples(id)).reduce((sum, { value }) => sum + value, 0);
}

function onlyRuntime({ runtimes }: Pick<World, "runtimes">) {
  const [runtime] = runtimes.values();
  if (runtime === undefined) throw new Error("No template has a runtime.");
  return runtime;
}
