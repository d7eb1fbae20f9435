/** The configuration of telemetry: log lines, metrics and spans. */
import * as z from "zod";
import { httpUrl, oneOf, secretSchema } from "./values.ts";

const ratioSchema = z.number().min(0).max(1);

const exporterSchema = z
  .discriminatedUnion(
    "type",
    [
      z
        .strictObject({ type: z.literal("none") })
        .describe("Sends no spans. Tasks still carry their trace ids."),
      z
        .strictObject({
          type: z.literal("otlp"),
          url: httpUrl()
            .default("http://127.0.0.1:4318/v1/traces")
            .describe("The URL of the collector, with its path."),
          headers: z
            .record(
              z.string().regex(/^[A-Za-z0-9-]+$/, "must be the name of a header"),
              secretSchema,
            )
            .default({})
            .describe("Headers that authenticate the sender, by name."),
        })
        .describe("Sends spans with OTLP over HTTP."),
      z
        .strictObject({ type: z.literal("xray") })
        .describe("Sends spans to AWS X-Ray with the credentials of the role."),
    ],
    oneOf("none", "otlp", "xray"),
  )
  .describe("Where spans are sent.");

export const telemetrySchema = z.strictObject({
  logs: z
    .strictObject({
      level: z
        .enum(["debug", "info", "warn", "error"])
        .optional()
        .describe(
          "The lowest level. SEKISHO_LOG_LEVEL takes precedence. Default: info, with `sekisho start` warn.",
        ),
      debugRatio: ratioSchema
        .default(0)
        .describe(
          "The share of tasks whose log lines are written at all levels, by the request id.",
        ),
    })
    .prefault({})
    .describe("Log lines."),
  metrics: z
    .boolean()
    .default(true)
    .describe("Collects metrics: at GET /metrics, or in CloudWatch on Lambda."),
  traces: z
    .strictObject({
      sampleRatio: ratioSchema.default(1).describe("The share of tasks whose spans are sent."),
      exporter: exporterSchema.default({ type: "none" }).describe("Where spans are sent."),
    })
    .prefault({})
    .describe("Spans."),
});
export type TelemetryConfig = z.infer<typeof telemetrySchema>;
