/** Both zones, and one destination: an agent that somebody else wrote. */
import { closeAfterTest } from "../doubles/serving.ts";
import { startZones } from "../world/started-zones.ts";

/** `destination` and `limits` are parts of the configuration. */
export async function askForeignAgent({
  destination,
  limits = {},
}: {
  destination: object;
  limits?: object;
}) {
  const zones = await startZones({
    config: {
      destinations: { foreign: destination },
      routes: [{ destination: "foreign" }],
      limits,
    },
    level: "info",
  });
  closeAfterTest(zones);
  return {
    lines: zones.lines,
    /** Resolves when the task is over or has asked, to its record and to all that the bot has in the thread. */
    async ask(text = "hello") {
      const { message, requestId } = zones.ask(text);
      const task = await zones.over(
        requestId,
        ({ state, question }) => state === "done" || question?.ts !== undefined,
      );
      const posts = zones.answersTo(message);
      return { requestId, task, posts, shown: JSON.stringify(posts) };
    },
  };
}
