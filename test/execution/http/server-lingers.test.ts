/** A caller that got its answer before it sent its body, and hung up, leaves nothing behind in the server. */
import { afterEach, expect, it, jest } from "@jest/globals";
import { createBearerAuthenticator } from "../../../lambdas/execution/authenticator/create-authenticator.ts";
import { serve } from "../authenticator/ask.ts";

afterEach(() => void jest.restoreAllMocks());

it("lets go of the timer that would end the connection", async () => {
  const { hear } = await serve(createBearerAuthenticator({ readTokens: async () => [] }));
  const timers = new Set<unknown>();
  const { promise: cleared, resolve } = Promise.withResolvers<void>();
  const { setTimeout: real, clearTimeout: realClear } = globalThis;
  // The timer of a second that follows an answer never fires here, so that nothing but the end of the connection clears it.
  jest.spyOn(globalThis, "setTimeout").mockImplementation(((work: () => void, ms?: number) => {
    if (ms !== 1000) return real(work, ms);
    const timer = real(() => {}, 0);
    timers.add(timer);
    return timer;
  }) as typeof setTimeout);
  jest.spyOn(globalThis, "clearTimeout").mockImplementation((timer) => {
    realClear(timer);
    if (timers.delete(timer)) resolve();
  });
  expect(await hear("wrong")).toMatchObject({ status: 401 });
  expect(timers.size).toBe(1);
  await cleared;
});
