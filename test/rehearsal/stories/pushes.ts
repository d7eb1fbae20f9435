/** Stories of completion pushes. */
import { hash } from "node:crypto";
import { formatCompletionQueueName } from "../../../lib/cdk/names.ts";
import { awsFailure } from "../aws/failure.ts";
import type { Fault } from "../aws/gateway.ts";
import { queueArnOf, quiet } from "../stage.ts";
import { stageName } from "../synthesized.ts";
import type { World } from "../world.ts";
import { answer, askAndRead, logged, withFault, withoutDuplicates } from "./messages.ts";

function findCompletionQueue({ resolver }: Pick<World, "resolver">): string {
  const name = formatCompletionQueueName({ stageName });
  const queue = resolver.resources("AWS::SQS::Queue").find(({ properties }) => properties.QueueName === name);
  if (queue === undefined) throw new Error(`No template has the queue ${name}.`);
  return queue.arn;
}

/**
 * Every delayed wake-up is lost, so that only a push can wake the task. The delayed copy of a wake-up that came at once, but before
 * the record was saved, is not lost.
 */
export async function answerByPush(world: World): Promise<void> {
  const arn = queueArnOf(world, "queueUrl");
  const sent = new Set<string>();
  const loseDelayed: Fault = ({ call: { action, resources, input } }) => {
    if (action !== "sqs:SendMessage" || !resources.includes(arn)) return undefined;
    const { requestId, seq } = JSON.parse(String(input.MessageBody)) as { requestId: string; seq?: number };
    const link = `${requestId} ${seq}`;
    const isCopy = sent.has(link);
    sent.add(link);
    if (isCopy || Number(input.DelaySeconds ?? 0) === 0) return undefined;
    return Response.json({ MessageId: "lost", MD5OfMessageBody: hash("md5", String(input.MessageBody)) });
  };
  // A duplicate may find its task at work, and its later copy would be lost with the delayed ones.
  await withoutDuplicates(world, () =>
    withFault(world, loseDelayed, () => askAndRead(world, "slow 5s, pushed", /slow 5s, pushed/)),
  );
}

/** The push fails. Resolves to the number of log lines that say so. */
export async function answerWithoutPush(world: World): Promise<number> {
  const arn = findCompletionQueue(world);
  const away: Fault = ({ call: { action, resources } }) =>
    action === "sqs:SendMessage" && resources.includes(arn)
      ? awsFailure({ service: "sqs", name: "ServiceUnavailable", status: 503 })
      : undefined;
  const polled = () => askAndRead(world, "slow 3s, not pushed", /not pushed/);
  const { requestId } = await withFault(world, away, polled);
  const notPushed = () => logged(world, { message: "completion_not_pushed", request_id: requestId });
  await world.until("word of the push that failed", () => (notPushed().length > 0 ? true : undefined));
  return notPushed().length;
}

/** Somebody who may write to the completion queue forges pushes, while a task waits and after its end. */
export async function forgePushes(world: World): Promise<{ requestId: string; answers: number }> {
  const arn = findCompletionQueue(world);
  const { message, requestId } = world.ask({ text: "slow 6s, forged" });
  const taskId = await world.until("acceptance", () => {
    const [poll] = logged(world, { request_id: requestId, operation: "get_task" });
    return typeof poll?.task_id === "string" ? poll.task_id : undefined;
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
