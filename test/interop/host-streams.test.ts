/** Our transport reads along with an agent of our host. */
import { expect, it } from "@jest/globals";
import { closeAfterTest } from "../doubles/serving.ts";
import { startOurHost } from "./our-host.ts";
import { createSteps, readAlong } from "./read-along.ts";

const texts = ["It is 31", "It is 31 degrees.", "It is 31 degrees.\n\nAnd it rains."];

it.each(["1.0", "0.3"] as const)(
  "shows an answer as an agent of our host writes it, in %s",
  async (version) => {
    const steps = createSteps();
    async function* agent() {
      for (const partial of texts) {
        await steps.next();
        yield { type: "progress" as const, partial };
      }
      await steps.next();
      yield { type: "answer" as const, text: texts.at(-1) ?? "" };
    }
    const { cardUrl } = closeAfterTest(await startOurHost({ agent }));
    const { result, partialTexts } = await readAlong({ cardUrl, version, goOn: steps.goOn });
    expect(result).toMatchObject({ status: "success", response_text: texts.at(-1) });
    expect(partialTexts).toEqual(texts);
  },
);
