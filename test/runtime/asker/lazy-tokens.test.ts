import { expect, it } from "@jest/globals";
import { SekishoError } from "@sekisho/contracts/errors.ts";
import { createLazyTokens } from "@sekisho/runtime/asker/lazy-tokens.ts";

const request = {
  to: { audience: "agent", claims: [], subject: "slack" as const },
  asker: undefined,
  body: Buffer.from("{}"),
  signal: new AbortController().signal,
};
const issue = async () => "token";

it("loads the tokens for the first call, and once for all", async () => {
  let loads = 0;
  const tokens = createLazyTokens({
    async load() {
      loads += 1;
      return { issue };
    },
  });
  expect(loads).toBe(0);
  await Promise.all([tokens.issue(request), tokens.issue(request)]);
  await expect(tokens.issue(request)).resolves.toBe("token");
  expect(loads).toBe(1);
});

it("loads again after a failure, which counts as undelivered", async () => {
  const failures: string[] = [];
  let loads = 0;
  const tokens = createLazyTokens({
    async load() {
      loads += 1;
      if (loads === 1) throw new Error("the disk is gone");
      return { issue };
    },
    onFailure: ({ reason, certainty }) => failures.push(`${reason} ${certainty}`),
  });
  await expect(tokens.issue(request)).rejects.toMatchObject({ certainty: "undelivered" });
  await expect(tokens.issue(request)).resolves.toBe("token");
  expect(failures).toEqual(["unavailable undelivered"]);
});

it("passes on the reason of a refused signature, and does not report a call that was given up", async () => {
  const failures: string[] = [];
  const refusal = new SekishoError("unauthenticated", { certainty: "undelivered" });
  const tokens = createLazyTokens({
    load: async () => ({ issue: () => Promise.reject(refusal) }),
    onFailure: ({ reason }) => failures.push(reason),
  });
  await expect(tokens.issue(request)).rejects.toBe(refusal);
  const signal = AbortSignal.abort();
  await expect(tokens.issue({ ...request, signal })).rejects.toBe(refusal);
  expect(failures).toEqual(["unauthenticated"]);
});
