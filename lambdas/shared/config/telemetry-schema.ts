/** The configuration of telemetry: log lines, metrics and spans. */
import * as z from "zod";
import type { LogLevel } from "../log.ts";
import { httpUrl, oneOf, secretSchema } from "./values.ts";

const ratioSchema = z.number().min(0).max(1);

const exporterSchema = z
  .discriminatedUnion(
    "type",
    [
      z.strictObject({ type: z.literal("none") }).describe("Each task carries its trace, but no spans are sent."),
      z
        .strictObject({
          type: z.literal("otlp"),
          url: httpUrl().default("http://127.0.0.1:4318/v1/traces").describe("Where spans are posted, path included."),
          headers: z.record(z.string().regex(/^[A-Za-z0-9-]+$/, "a header's name"), secretSchema).default({}),
        })
        .describe("A collector that takes OTLP over HTTP; on Lambda that of a layer, at its default address."),
      z.strictObject({ type: z.literal("xray") }).describe("AWS X-Ray's own OTLP endpoint, by the role's credentials."),
    ],
    oneOf("none", "otlp", "xray"),
  )
  .describe("Where spans go.");

export const telemetrySchema = z.strictObject({
  logs: z
    .strictObject({
      level: z
        .enum(["debug", "info", "warn", "error"])
        .optional()
        .describe("Default: info; npm start: warn. SEKISHO_LOG_LEVEL takes precedence."),
      debugRatio: ratioSchema
        .default(0)
        .describe(
          "The share of tasks whose lines are written at level debug. The request id decides, so that all processes choose the same tasks.",
        ),
    })
    .prefault({}),
  metrics: z
    .boolean()
    .default(true)
    .describe("GET /metrics in a process that keeps running; on Lambda, log lines for CloudWatch."),
  traces: z
    .strictObject({
      sampleRatio: ratioSchema
        .default(1)
        .describe("The share of tasks that are traced. It is decided once, when Slack's event arrives."),
      exporter: exporterSchema.default({ type: "none" }),
    })
    .prefault({}),
});
export type TelemetryConfig = z.infer<typeof telemetrySchema>;

// The environment takes precedence over the configuration, and that over the default of the entry.

/** `debugRatio` is the share of tasks whose lines are written at every level. */
export type LogSettings = { level: LogLevel; debugRatio: number };

export function toLogSettings(request: {
  environment: { logLevel: LogLevel | undefined; debugRatio: number | undefined };
  config?: TelemetryConfig["logs"];
  level?: LogLevel;
}): LogSettings {
  const { config, level = "info" } = request;
  const { logLevel, debugRatio } = request.environment;
  return { level: logLevel ?? config?.level ?? level, debugRatio: debugRatio ?? config?.debugRatio ?? 0 };
}
