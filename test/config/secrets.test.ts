import { afterEach, expect, it } from "@jest/globals";
import { readSecret, shortTokenProblems } from "@sekisho/config/secrets.ts";

const { AWS_REGION: region, AWS_DEFAULT_REGION: defaultRegion } = process.env;
afterEach(() => {
  for (const [name, value] of Object.entries({
    AWS_REGION: region,
    AWS_DEFAULT_REGION: defaultRegion,
  })) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
});

it("refuses a secret name without a region, and says what to set", async () => {
  delete process.env.AWS_REGION;
  delete process.env.AWS_DEFAULT_REGION;
  await expect(readSecret({ secretsManager: "slack/signing" })).rejects.toThrow(
    "The region of the secret slack/signing is unknown. Set AWS_REGION",
  );
});

it("reports a token of fewer than twenty characters, and never repeats it", () => {
  process.env.SEKISHO_TEST_TOKEN = "hunter2-".padEnd(19, "x");
  const references = [{ env: "SEKISHO_TEST_TOKEN" }];
  expect(shortTokenProblems({ references })).toEqual([
    expect.stringMatching(/^(?!.*hunter2).*SEKISHO_TEST_TOKEN/),
  ]);
  process.env.SEKISHO_TEST_TOKEN += "x";
  expect(shortTokenProblems({ references })).toEqual([]);
  delete process.env.SEKISHO_TEST_TOKEN;
});
