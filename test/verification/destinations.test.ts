/** What the configuration says of a destination, as the worker has it. */

import { expect, it } from "@jest/globals";
import { parseConfig } from "../../lambdas/shared/config/load.ts";
import { silentLog } from "../../lambdas/shared/log.ts";
import { createDestinations } from "../../lambdas/verification/destinations.ts";
import { noCredentials } from "../doubles/aws/no-credentials.ts";

it.each([
  [{}, [32, 5]],
  [{ sendsPerDestination: 8 }, [8, 5]],
  [{ concurrency: 4 }, [2, 5]],
])("a destination is sent as many tasks at once as it says itself, else as the limits %j say", (limits, expected) => {
  const destinations = { plain: { transport: "https" }, own: { transport: "https", sendsAtOnce: 5 } };
  const config = parseConfig({ json: { limits, destinations, routes: [{ destination: "plain" }] } });
  const secret = async () => "";
  const localUrl = "http://127.0.0.1:1/";
  const made = createDestinations({
    config,
    localUrl,
    readSecret: secret,
    botTokenOf: secret,
    credentials: noCredentials,
    log: silentLog,
  });
  expect([made.get("plain")?.maxSends, made.get("own")?.maxSends]).toEqual(expected);
});
