/** A task whose wake-ups make a longer chain of invocations than Lambda lets functions run in that do not allow loops. */
import type { Fault } from "./aws/gateway.ts";
import { offers } from "./button-clicks.ts";
import { mostInChain } from "./lambda/lineage.ts";
import { answer, logged } from "./stories.ts";
import type { World } from "./world.ts";

/** Polls one task without the delays between polls, more often than a chain may be long, and cancels it then. */
export async function isPolledInOneChain(world: World): Promise<void> {
  const { message, requestId } = world.ask({ text: "slow 50s, polled often" });
  const hurry: Fault = ({ call: { action, input } }) => {
    if (action === "sqs:SendMessage" && String(input.MessageBody).includes(requestId)) input.DelaySeconds = 0;
    return undefined;
  };
  world.gateway.faults.add(hurry);
  try {
    await world.until(`more than ${mostInChain} polls of a task`, () => {
      const polls = logged(world, { request_id: requestId, message: "call_answered", operation: "get_task" });
      return polls.length > mostInChain ? true : undefined;
    });
  } finally {
    world.gateway.faults.delete(hurry);
  }
  const { channel, ts } = await world.until("button to cancel", () =>
    world.answersTo(message).find((post) => offers("Cancel", post)),
  );
  world.fakeSlack.clickButton({ eventsUrl: world.eventsUrl, channel, ts, label: "Cancel" });
  await answer(world, message, /was canceled/);
}
