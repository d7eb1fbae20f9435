/** Sends dead letters on their way again, and removes each from the archive once its message is in the queue. */
import { SendMessageCommand, SQSClient } from "@aws-sdk/client-sqs";
import { callAws } from "../aws-failure.ts";
import { type ReadLetter, readTenant } from "./archive.ts";
import type { ReadTaskState } from "./task-state.ts";

type Redrive = {
  letters: readonly ReadLetter[];
  stateOfTask: ReadTaskState;
  send(request: { body: string; group: string | undefined }): Promise<void>;
  remove(letter: ReadLetter): Promise<void>;
  /** Called for each request id when it is on its way. */
  done(request: { requestId: string; state: string | undefined }): void;
};

/** Several letters of one task are one message. */
export async function redrive({ letters, stateOfTask, send, remove, done }: Redrive): Promise<void> {
  for (const [requestId, ofTask] of byRequestId(letters)) {
    const state = await stateOfTask({ requestId });
    const ask = ofTask.find(({ message }) => message?.type === "ask");
    // A task that was never begun starts with its message. Any other is in the table, and goes on from where it stands.
    const body = ask !== undefined && state === undefined ? ask.body : JSON.stringify({ type: "redrive", requestId });
    await send({ body, group: ofTask.map(readTenant).find((group) => group !== undefined) });
    for (const letter of ofTask) await remove(letter);
    done({ requestId, state });
  }
}

function byRequestId(letters: readonly ReadLetter[]): Map<string, ReadLetter[]> {
  const groups = new Map<string, ReadLetter[]>();
  for (const letter of letters) {
    if (letter.message === undefined) continue;
    const { requestId } = letter.message;
    groups.set(requestId, [...(groups.get(requestId) ?? []), letter]);
  }
  return groups;
}

export function createSend({
  queueUrl,
  region,
  signal,
}: {
  queueUrl: string;
  region: string;
  signal: AbortSignal;
}): Redrive["send"] {
  const sqs = new SQSClient({ region, useQueueUrlAsEndpoint: false });
  return async ({ body, group }) => {
    const input = { QueueUrl: queueUrl, MessageBody: body, ...(group === undefined ? {} : { MessageGroupId: group }) };
    await callAws({
      doing: "send a message to the queue of tasks",
      signal,
      call: (options) => sqs.send(new SendMessageCommand(input), options),
    });
  };
}
