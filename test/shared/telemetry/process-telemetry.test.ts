/** What a process finds out about its telemetry before it takes its first task. */
import { describe, expect, it } from "@jest/globals";
import { readSecret } from "../../../lambdas/shared/config/secrets.ts";
import { telemetrySchema } from "../../../lambdas/shared/config/telemetry-schema.ts";
import { silentLog } from "../../../lambdas/shared/log.ts";
import { openProcessTelemetry } from "../../../lambdas/shared/telemetry/process-telemetry.ts";

describe("the telemetry of a process", () => {
  it("is refused with a header of the collector whose variable is not set", () => {
    const headers = { authorization: { env: "SEKISHO_TEST_NOT_SET" } };
    const exporter = { type: "otlp", url: "http://127.0.0.1:4318/v1/traces", headers };
    const config = telemetrySchema.parse({ metrics: false, traces: { exporter } });
    expect(() => openProcessTelemetry({ config, service: "execution", readSecret, log: silentLog })).toThrow(
      "telemetry.traces.exporter.headers.authorization: the environment variable SEKISHO_TEST_NOT_SET is not set",
    );
  });
});
