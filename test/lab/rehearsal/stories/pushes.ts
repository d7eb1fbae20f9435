/** Stories of completion pushes. */
import { hash } from "node:crypto";
import { formatCompletionQueueName } from "@sekisho/cdk/names.ts";
import { awsFailure } from "../aws/failure.ts";
import type { Fault } from "../aws/gateway.ts";
import { queueArnOf, quiet } from "../stage.ts";
import { stageName } from "../synthesized.ts";
import type { World } from "../world.ts";
import { answer, askAndRead, hasButton, logged, withFault, withoutDuplicates } from "./messages.ts";

function findCompletionQueue({ resolver }: Pick<World, "resolver">): string {
  const name = formatCompletionQueueName({ stageName });
  const queue = resolver
    .resources("AWS::SQS::Queue")
    .find(({ properties }) => properties.QueueName === name);
  if (queue === undefined) throw new Error(`No template has the queue ${name}.`);
  return queue.arn;
}

/** A push that comes soon after a poll makes one for the end of the second. Later ones are those that the host advised. */
const maxPushedSeconds = 2;

/**
 * Every wake-up of a regular poll is lost, so that only a push can wake the task. The delayed copy of a wake-up that came at once, but before
 * the record was saved, is not lost.
 */
async function withoutPolls(world: World, story: () => Promise<void>): Promise<void> {
  const arn = queueArnOf(world, "queueUrl");
  const sentLinks = new Set<string>();
  const loseDelayed: Fault = ({ call: { action, resources, input } }) => {
    if (action !== "sqs:SendMessage" || !resources.includes(arn)) return undefined;
    const { requestId, seq } = JSON.parse(String(input.MessageBody)) as {
      requestId: string;
      seq?: number;
    };
    const link = `${requestId} ${seq}`;
    const isCopy = sentLinks.has(link);
    sentLinks.add(link);
    if (isCopy || Number(input.DelaySeconds ?? 0) <= maxPushedSeconds) return undefined;
    return Response.json({
      MessageId: "lost",
      MD5OfMessageBody: hash("md5", String(input.MessageBody)),
    });
  };
  // A duplicate may find its task at work, and its later copy would be lost with the delayed ones.
  await withoutDuplicates(world, () => withFault(world, loseDelayed, story));
}

export function answerByPush(world: World): Promise<void> {
  return withoutPolls(world, async () => {
    await askAndRead(world, "slow 5s, pushed", /slow 5s, pushed/);
  });
}

/** The agent reports its first progress after the first call was answered. */
export function showProgressByPush(world: World): Promise<void> {
  return withoutPolls(world, async () => {
    const { message } = world.ask({ text: "slow 9s, progress" });
    await answer(world, message, /Step \d of 5/);
    await answer(world, message, /slow 9s, progress/);
  });
}

/** The agent writes its first words after the first call was answered. Resolves to the number of agents that were done by then. */
export async function showFirstWordsByPush(world: World): Promise<number> {
  let end = Number.NaN;
  await withoutPolls(world, async () => {
    const { message, requestId } = world.ask({ text: "slow 15s, stream" });
    const shows = (words: RegExp) => () =>
      world.answersTo(message).find(({ text }) => words.test(text));
    await world.until("first words", shows(/A traveller/));
    end = logged(world, { request_id: requestId, message: "task_ended" }).length;
    await world.until("last words", shows(/without a word/));
  });
  return end;
}

/** The second question comes after the call that brought the reply to the first one. */
export function askByPush(world: World): Promise<void> {
  return withoutPolls(world, async () => {
    const { message } = world.ask({ text: "ask twice" });
    for (const prompt of [/Shall I go on\?/, /Are you sure\?/]) {
      const { channel, ts } = await world.until(`question ${prompt}`, () =>
        world.answersTo(message).find((post) => prompt.test(post.text) && hasButton("Yes", post)),
      );
      world.fakeSlack.clickButton({ eventsUrl: world.eventsUrl, channel, ts, label: "Yes" });
    }
    await world.until("answer", () =>
      world.answersTo(message).find(({ text }) => /Are you sure\? yes/.test(text)),
    );
  });
}

/** The push fails. Resolves to the number of log lines that say so, and to the number of polls. */
export async function answerWithoutPush(
  world: World,
): Promise<{ failedPushes: number; polls: number }> {
  const arn = findCompletionQueue(world);
  const away: Fault = ({ call: { action, resources } }) =>
    action === "sqs:SendMessage" && resources.includes(arn)
      ? awsFailure({ service: "sqs", name: "ServiceUnavailable", status: 503 })
      : undefined;
  const polled = () => askAndRead(world, "slow 3s, not pushed", /not pushed/);
  const { requestId } = await withoutDuplicates(world, () => withFault(world, away, polled));
  const notPushed = () =>
    logged(world, { message: "completion_not_pushed", request_id: requestId });
  await world.until("word of the push that failed", () =>
    notPushed().length > 0 ? true : undefined,
  );
  const polls = logged(world, {
    message: "call_answered",
    request_id: requestId,
    operation: "get_task",
  });
  return { failedPushes: notPushed().length, polls: polls.length };
}

/** Somebody who may write to the completion queue forges pushes, while a task waits and after its end. */
export async function forgePushes(world: World): Promise<{ requestId: string; answers: number }> {
  const arn = findCompletionQueue(world);
  const { message, requestId } = world.ask({ text: "slow 6s, forged" });
  await world.until("accepted task", () =>
    logged(world, { request_id: requestId, state: "waiting" }).at(0),
  );
  const taskId = await world.until("start of the agent", () => {
    const [start] = logged(world, { request_id: requestId, message: "task_started" });
    return typeof start?.task_id === "string" ? start.task_id : undefined;
  });
  const unknown = "00000000-0000-5000-8000-000000000000";
  const forged = [
    { request_id: requestId, task_id: taskId, status: "success", response_text: "forged" },
    { request_id: requestId, task_id: taskId },
    { request_id: requestId, task_id: "another" },
    { request_id: unknown, task_id: taskId },
    { type: "ask", requestId: unknown, message: { text: "let me in" } },
    { type: "redrive", requestId },
    { type: "cancel", requestId },
    "nonsense",
  ];
  const forge = () => {
    for (const body of forged) world.queues.send({ arn, body: JSON.stringify(body) });
  };
  forge();
  await answer(world, message, /slow 6s, forged/);
  await quiet(world);
  forge();
  await quiet(world);
  return { requestId, answers: world.answersTo(message).length };
}
