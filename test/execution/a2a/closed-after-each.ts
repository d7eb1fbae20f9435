/** Opens what tests need as often as they need it, and closes all of it when each is over. */
import { afterEach } from "@jest/globals";

type Closing = { close(): Promise<void> };

export function closedAfterEach<Options, Opened extends Closing>(
  open: (options?: Options) => Promise<Opened>,
): (options?: Options) => Promise<Opened> {
  const opened: Opened[] = [];
  afterEach(async () => {
    for (const one of opened.splice(0)) await one.close();
  });
  return async (options) => {
    const one = await open(options);
    opened.push(one);
    return one;
  };
}
