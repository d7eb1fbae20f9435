import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "../../lambdas/shared/config/load.ts";
import { tokensOf } from "../../lib/constructs/destination-permissions.ts";

describe("the secrets that a worker may read", () => {
  it("are the tokens of other addresses; its own Execution zone is called by signature", () => {
    const bearer = (secretsManager: string) => ({ type: "bearer", token: { secretsManager } });
    const destinations = {
      own: { transport: "https", authorizer: bearer("own-token") },
      far: { transport: "https", url: "https://far.example/", authorizer: bearer("far-token") },
    };
    expect(tokensOf(parseConfig({ json: { destinations, routes: [] } }))).toEqual(["far-token"]);
  });
});
