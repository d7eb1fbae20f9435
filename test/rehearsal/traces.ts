/** One task as whoever collects spans sees it: one trace across the zones, with nothing missing in between. */
import type { CollectedSpan, startOtlpCollector } from "../doubles/otlp-collector.ts";
import { askAndRead, logged } from "./stories.ts";
import type { World } from "./world.ts";

type Collector = Pick<Awaited<ReturnType<typeof startOtlpCollector>>, "spans">;

/** Resolves to the spans of the task's trace as soon as all of `wanted` (service and name) are among them, and none lacks its parent. */
export async function isTraced(
  world: World,
  { collector, wanted }: { collector: Collector; wanted: readonly string[] },
): Promise<CollectedSpan[]> {
  const { requestId } = await askAndRead(world, "one trace of it all", /one trace of it all/);
  const [entered] = logged(world, { request_id: requestId, message: "message_enqueued" });
  return world.until(`whole trace with ${wanted.join(", ")}`, () => {
    const spans = collector.spans().filter(({ traceId }) => traceId === entered?.trace_id);
    const names = spans.map(({ service, name }) => `${service}: ${name}`);
    return wanted.every((each) => names.includes(each)) && orphans(spans).length === 0 ? spans : undefined;
  });
}

/** Spans that say that they lie below one that nobody told of. */
function orphans(spans: readonly CollectedSpan[]): string[] {
  const ids = new Set(spans.map(({ spanId }) => spanId));
  return spans.filter(({ parent }) => parent !== undefined && !ids.has(parent)).map(({ name }) => name);
}
