/** Stories of messages that become dead letters, and the alarms that ring for them. */

import type { FakeSlackMessage } from "@sekisho/local/fake-slack/messages.ts";
import { raisedAlarms } from "../aws/alarms.ts";
import { awsFailure } from "../aws/failure.ts";
import type { Fault } from "../aws/gateway.ts";
import { consumerOf, queueArnOf, quiet } from "../stage.ts";
import type { World } from "../world.ts";
import { answer, askAndRead, hasButton } from "./messages.ts";

/**
 * From the moment when a task is saved as accepted, the table fails for it, but only for the worker. Its message becomes a dead
 * letter while its agent is at work. The other messages in the queue must not suffer from it.
 */
export async function poisonTask(
  world: World,
): Promise<{ requestId: string; message: FakeSlackMessage; text: string }> {
  const worker = consumerOf(world, queueArnOf(world, "queueUrl")).label;
  const { message, requestId } = world.ask({ text: "slow 500s" });
  let isAway = false;
  const fault: Fault = ({ call: { service }, caller, text }) => {
    if (service !== "dynamodb" || caller.name !== worker || !text.includes(requestId))
      return undefined;
    isAway ||= text.includes("waiting");
    return isAway ? awsFailure({ service, name: "InternalServerError", status: 500 }) : undefined;
  };
  world.gateway.faults.add(fault);
  const beside = Promise.all(
    [1, 2, 3].map((number) => askAndRead(world, `beside ${number}`, /beside/)),
  );
  // It is awaited below. Until then a rejection must not end the process.
  beside.catch(() => {});
  const archive = queueArnOf(world, "deadLettersUrl");
  await world.skipUntil("message in the archive of dead letters", () =>
    world.queues.peek(archive).some((body) => body.includes(requestId)) ? true : undefined,
  );
  world.gateway.faults.delete(fault);
  await beside;
  const text = await answer(world, message, /lost contact/);
  return { requestId, message, text };
}

/** Resolves when each of these alarms rang at some time since `fromMs`. */
export async function alarmsRing(
  world: World,
  fromMs: number,
  wanted: readonly string[],
): Promise<void> {
  await world.until(`alarm of each of ${wanted.join(", ")}`, () => {
    const raised = raisedAlarms(world, { fromMs });
    return wanted.every((name) => raised.includes(name)) ? true : undefined;
  });
}

/** Sends a dead task to the worker again, as the command line does. */
export async function redrive(world: World, requestId: string): Promise<void> {
  const body = JSON.stringify({ type: "redrive", requestId });
  world.queues.send({ arn: queueArnOf(world, "queueUrl"), body });
  await quiet(world);
}

/**
 * The request to cancel cannot be sent: the button click becomes a dead letter, and the task goes on. A second click cancels it.
 */
export async function clickInVain(world: World): Promise<void> {
  const { message, requestId } = world.ask({ text: "slow 500s, clicked in vain" });
  const isOurs = (body: string, type: string) => {
    const read = JSON.parse(body) as { type?: unknown; requestId?: unknown };
    return read.type === type && read.requestId === requestId;
  };
  const noWish: Fault = ({ call: { action, input } }) =>
    action === "sqs:SendMessage" && isOurs(String(input.MessageBody), "cancel")
      ? awsFailure({ service: "sqs", name: "ServiceUnavailable", status: 503 })
      : undefined;
  world.gateway.faults.add(noWish);
  const { channel, ts } = await world.until("button to cancel", () =>
    world.answersTo(message).find((post) => hasButton("Cancel", post)),
  );
  const click = () =>
    world.fakeSlack.clickButton({ eventsUrl: world.eventsUrl, channel, ts, label: "Cancel" });
  click();
  const archive = queueArnOf(world, "deadLettersUrl");
  await world.skipUntil("button click in the archive of dead letters", () =>
    world.queues.peek(archive).some((body) => isOurs(body, "button_click")) ? true : undefined,
  );
  world.gateway.faults.delete(noWish);
  click();
  await answer(world, message, /was canceled/);
}
