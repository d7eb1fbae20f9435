/** The credentials of a process on AgentCore or in a container, which the platform renews. */
import { afterEach, expect, it, jest } from "@jest/globals";
import { defaultAwsCredentials } from "@sekisho/runtime/aws/default-credentials.ts";
import { openDynamoDb } from "@sekisho/runtime/engine/aws/client.ts";
import { serve } from "../../doubles/serving.ts";
import { sigv4Problem } from "../../doubles/sigv4-check.ts";

const region = "eu-central-1";
const savedEnv = { ...process.env };
const startMs = 1_762_750_300_000;
const minuteMs = 60_000;

afterEach(() => {
  jest.restoreAllMocks();
  process.env = { ...savedEnv };
});

it("renews credentials before they expire and signs the next call with the new ones", async () => {
  let nowMs = startMs;
  jest.spyOn(Date, "now").mockImplementation(() => nowMs);
  const { url: platform, received: platformRequests } = await serve(({ request }) => {
    if (request.headers.get("authorization") !== "a token")
      return new Response(null, { status: 403 });
    const count = platformRequests.length;
    return Response.json({
      AccessKeyId: `AKID${count}`,
      SecretAccessKey: `secret ${count}`,
      Token: `session ${count}`,
      Expiration: new Date(nowMs + 60 * minuteMs).toISOString(),
    });
  });
  for (const name of Object.keys(process.env))
    if (name.startsWith("AWS_")) delete process.env[name];
  process.env.AWS_CONTAINER_CREDENTIALS_FULL_URI = `${platform}/credentials`;
  process.env.AWS_CONTAINER_AUTHORIZATION_TOKEN = "a token";
  // No profile of whoever runs the tests.
  process.env.AWS_CONFIG_FILE = process.env.AWS_SHARED_CREDENTIALS_FILE = "/dev/null";

  const { url, received: requests } = await serve(() =>
    Response.json({}, { headers: { date: new Date(nowMs).toUTCString() } }),
  );
  const client = openDynamoDb({
    region,
    credentials: defaultAwsCredentials(),
    endpointOf: () => new URL(url),
  });
  /** Makes a call, and resolves to the number of the credentials that signed it. */
  async function signerAfter(minutes: number): Promise<number> {
    nowMs = startMs + minutes * minuteMs;
    await client.call("GetItem", { TableName: "tasks", Key: { id: { S: "a" } } });
    const last = requests.at(-1);
    if (last === undefined) throw new Error("nothing arrived");
    const count = Number(
      /Credential=AKID(\d+)/.exec(last.request.headers.get("authorization") ?? "")?.[1],
    );
    const credentials = {
      accessKeyId: `AKID${count}`,
      secretAccessKey: `secret ${count}`,
      sessionToken: `session ${count}`,
    };
    expect(
      sigv4Problem({ received: last, credentials, service: "dynamodb", region, nowMs }),
    ).toBeUndefined();
    return count;
  }
  expect([await signerAfter(0), await signerAfter(54)]).toEqual([1, 1]);
  expect(platformRequests).toHaveLength(1);
  // In the last five minutes they are still good. They are renewed in the background.
  expect(await signerAfter(56)).toBe(1);
  while ((await signerAfter(57)) === 1) await new Promise((resolve) => setImmediate(resolve));
  expect([await signerAfter(58), platformRequests.length]).toEqual([2, 2]);
  // Nothing was called for so long that they have expired.
  expect([await signerAfter(300), platformRequests.length]).toEqual([3, 3]);
});
