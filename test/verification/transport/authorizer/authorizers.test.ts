import { describe, expect, it } from "@jest/globals";
import { SekishoError } from "../../../../contracts/errors.ts";
import { noAuthorizer } from "../../../../lambdas/verification/transport/authorizer/authorizer.ts";
import { createBearerAuthorizer } from "../../../../lambdas/verification/transport/authorizer/token-authorizer.ts";

function request(url: string) {
  return {
    method: "POST",
    url: new URL(url),
    headers: {},
    body: new Uint8Array(),
    signal: AbortSignal.timeout(25_000),
  } as const;
}

describe("no authorizer", () => {
  it.each(["http://127.0.0.1:1", "http://localhost", "http://[::1]"])("adds nothing for %s", async (url) => {
    expect(await noAuthorizer.authorize(request(url))).toEqual({});
  });

  it.each(["https://example.com", "https://10.0.0.1", "https://127.0.0.1.example.com"])("refuses %s", (url) => {
    expect(() => noAuthorizer.authorize(request(url))).toThrow(new SekishoError("unauthenticated"));
  });
});

describe("the bearer authorizer", () => {
  it("reads the token once, and anew after it was refused", async () => {
    let reads = 0;
    const authorizer = createBearerAuthorizer({ readToken: async () => `t${++reads}` });
    const read = () => authorizer.authorize(request("https://example.com"));
    const refused = await read();
    expect([refused, await read()]).toEqual(Array(2).fill({ headers: { authorization: "Bearer t1" } }));
    authorizer.refresh?.(refused);
    expect(await read()).toEqual({ headers: { authorization: "Bearer t2" } });
    authorizer.refresh?.(refused);
    expect(await read()).toEqual({ headers: { authorization: "Bearer t2" } });
  });

  it.each(["", "two words", "line\nbreak", "関所"])(
    "refuses %p, which is no token, and does not repeat it",
    async (token) => {
      const authorized = createBearerAuthorizer({ readToken: async () => token }).authorize(
        request("https://example.com"),
      );
      await expect(authorized).rejects.toThrow(new SekishoError("unauthenticated"));
    },
  );
});
