/** Buttons that people press, and what becomes of a press that cannot be handled. */
import { listButtons } from "../../lib/local/fake-slack/blocks.ts";
import type { FakeSlackMessage } from "../../lib/local/fake-slack/messages.ts";
import { awsFailure } from "./aws/failure.ts";
import type { Fault } from "./aws/gateway.ts";
import { queueArnOf } from "./stage.ts";
import { answer } from "./stories.ts";
import type { World } from "./world.ts";

/** Whether the message has a button that says so. */
export function offers(label: string, { blocks = [] }: FakeSlackMessage): boolean {
  return listButtons(blocks).some(({ button }) => button.text.text === label);
}

/** The wish to cancel gets nowhere: its press is kept for an operator, and the task goes on. Pressed once more, it is canceled. */
export async function isClickedInVain(world: World): Promise<void> {
  const { message, requestId } = world.ask({ text: "slow 500s, pressed in vain" });
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
    world.answersTo(message).find((post) => offers("Cancel", post)),
  );
  const click = () => world.fakeSlack.clickButton({ eventsUrl: world.eventsUrl, channel, ts, label: "Cancel" });
  click();
  const archive = queueArnOf(world, "deadLettersUrl");
  await world.skipUntil("button click in the archive of dead letters", async () =>
    (await world.queues.peek(archive)).some((body) => isOurs(body, "button_click")) ? true : undefined,
  );
  world.gateway.faults.delete(noWish);
  click();
  await answer(world, message, /was canceled/);
}
