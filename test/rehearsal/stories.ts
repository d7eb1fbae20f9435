/** What people do with the bot, told once for all kinds. Each resolves when it ended as it should, and rejects otherwise. */

import type { FakeSlackMessage } from "../../lib/local/fake-slack/messages.ts";
import { createEventPayload } from "../../lib/local/fake-slack/payloads.ts";
import { sendEvent } from "../../lib/local/signed-events.ts";
import { raisedAlarms } from "./alarms.ts";
import { awsFailure } from "./aws/failure.ts";
import type { Fault } from "./aws/gateway.ts";
import { consumerOf, queueArnOf, quiet } from "./stage.ts";
import type { World } from "./world.ts";

/** One line of a log, of any function. */
type Logged = Record<string, unknown>;

/** The only answer in the thread, as soon as it says what it is to say. */
export async function answer(world: World, message: FakeSlackMessage, wanted: RegExp): Promise<string> {
  const text = await world.until(`answer like ${wanted} to "${message.text}"`, () => {
    const [only, ...others] = world.answersTo(message);
    return others.length === 0 && only !== undefined && wanted.test(only.text) ? only.text : undefined;
  });
  return text;
}

export async function askAndRead(world: World, text: string, wanted: RegExp): Promise<{ requestId: string }> {
  const { message, requestId } = world.ask({ text });
  await answer(world, message, wanted);
  return { requestId };
}

export function logged(world: World, wanted: Logged): Logged[] {
  return world.lines
    .filter(({ line }) => line.startsWith("{"))
    .map(({ line }) => JSON.parse(line) as Logged)
    .filter((entry) => Object.entries(wanted).every(([name, value]) => entry[name] === value));
}

/** Slack delivers the same post again, as another event and once more. */
export async function isDeliveredThrice(world: World): Promise<{ requestId: string; answers: number }> {
  const { message, requestId } = world.ask({ text: "slow 1s, delivered three times" });
  const { eventsUrl, secrets } = world;
  await Promise.all(
    (["message", "app_mention"] as const).map((event) =>
      sendEvent({
        eventsUrl,
        signingSecret: secrets.SLACK_SIGNING_SECRET ?? "",
        payload: createEventPayload({ event, message }),
        retryDelaysMs: [],
      }),
    ),
  );
  await answer(world, message, /delivered three times/);
  await quiet(world);
  return { requestId, answers: world.answersTo(message).length };
}

/**
 * The table fails for one task from when it is to be written down as accepted, and only for the worker: its message becomes
 * a dead letter, while its agent is at work. Beside it in the queue are others, which must not suffer from it.
 */
export async function isPoisoned(
  world: World,
): Promise<{ requestId: string; message: FakeSlackMessage; text: string }> {
  const worker = consumerOf(world, queueArnOf(world, "queueUrl")).label;
  const { message, requestId } = world.ask({ text: "slow 500s" });
  let isAway = false;
  const fault: Fault = ({ call: { service }, caller, text }) => {
    if (service !== "dynamodb" || caller.name !== worker || !text.includes(requestId)) return undefined;
    isAway ||= text.includes("waiting");
    return isAway ? awsFailure({ service, name: "InternalServerError", status: 500 }) : undefined;
  };
  world.gateway.faults.add(fault);
  const beside = Promise.all([1, 2, 3].map((number) => askAndRead(world, `beside ${number}`, /beside/)));
  // Awaited below, where nothing else went wrong before.
  beside.catch(() => {});
  const archive = queueArnOf(world, "deadLettersUrl");
  await world.skipUntil("message in the archive of dead letters", async () =>
    (await world.queues.peek(archive)).some((body) => body.includes(requestId)) ? true : undefined,
  );
  world.gateway.faults.delete(fault);
  await beside;
  const text = await answer(world, message, /lost contact/);
  return { requestId, message, text };
}

/** Resolves when all of these alarms were raised at some time of the window that is still open. */
export async function alarmsRing(world: World, fromMs: number, wanted: readonly string[]): Promise<void> {
  await world.until(`alarm of each of ${wanted.join(", ")}`, () => {
    const raised = raisedAlarms(world, { fromMs });
    return wanted.every((name) => raised.includes(name)) ? true : undefined;
  });
}

/** As the command line does it for a task that has a record. */
export async function redrive(world: World, requestId: string): Promise<void> {
  const body = JSON.stringify({ type: "redrive", requestId });
  await world.queues.send({ arn: queueArnOf(world, "queueUrl"), body });
  await quiet(world);
}
