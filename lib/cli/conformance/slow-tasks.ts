import type { AcceptedTask, SentTask, SlowTasks } from "./case.ts";
import { NotApplicable } from "./case.ts";
import { expectResult } from "./expect.ts";
import type { PeerUnderTest } from "./peer.ts";
import { channel } from "./run-task.ts";

/** Both are sent at the same time when the first of them is asked for, since each may take as long as the peer waits itself. */
export function createSlowTasks({
  peer,
  text,
  newId,
}: {
  peer: PeerUnderTest;
  text: string;
  newId: () => string;
}): SlowTasks {
  let sent: readonly [Promise<SentTask>, Promise<SentTask>] | undefined;

  async function send(): Promise<SentTask> {
    const requestId = newId();
    const params = { channel, text };
    return { requestId, params, answer: await peer.call({ method: "execute_task", params, id: requestId }) };
  }

  function start() {
    sent ??= [send(), send()];
    // Where the command is interrupted, nobody may be there to hear of the second.
    for (const one of sent) one.catch(() => {});
    return sent;
  }

  return {
    first: () => start()[0],
    awaited: async () => requireAccepted({ text, ...(await start()[0]) }),
    canceled: async () => requireAccepted({ text, ...(await start()[1]) }),
  };
}

function requireAccepted({ text, answer, requestId, params }: SentTask & { text: string }): AcceptedTask {
  const { response, came } = answer;
  if (response === undefined || "error" in response) throw new NotApplicable(`to "${text}" came ${came}`);
  const result = expectResult({ answer, method: "execute_task", id: requestId });
  if (result.status === "accepted") return { requestId, params, result, came };
  throw new NotApplicable(`the peer answers "${text}" at once and not by "accepted"`);
}
