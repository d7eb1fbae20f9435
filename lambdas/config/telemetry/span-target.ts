/** Chooses where spans are sent, as the configuration says. */
import { createCollectorTarget, type OtlpTarget } from "@sekisho/runtime/telemetry/otlp-target.ts";
import { ConfigError } from "../config-error.ts";
import type { TelemetryConfig } from "../telemetry-schema.ts";
import type { SecretReference } from "../values.ts";

/** Returns undefined if spans are not sent. Throws a ConfigError if `xray` is configured but unavailable. Reads nothing before the first post. */
export function createSpanTarget(options: {
  exporter: TelemetryConfig["traces"]["exporter"];
  readSecret: (reference: SecretReference) => Promise<string>;
  /** Undefined if X-Ray is not available. */
  xray?: OtlpTarget | undefined;
}): OtlpTarget | undefined {
  const { exporter, readSecret, xray } = options;
  if (exporter.type === "none") return undefined;
  if (exporter.type === "otlp") {
    const { url, headers } = exporter;
    const readHeaders = async () => {
      const entries = Object.entries(headers).map(
        async ([name, secret]) => [name, await readSecret(secret)] as const,
      );
      return Object.fromEntries(await Promise.all(entries));
    };
    return createCollectorTarget({ url, readHeaders });
  }
  if (xray !== undefined) return xray;
  const problem =
    'telemetry.traces.exporter: "xray" needs AWS: set AWS_REGION; in a container, or without AWS, use "otlp"';
  throw new ConfigError("The configuration", [problem]);
}
