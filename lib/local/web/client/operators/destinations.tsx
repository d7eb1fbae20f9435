/** The destinations with their health, and the routes that lead to them. */
import { useRef, useState } from "preact/hooks";
import { formatDuration } from "../../duration.ts";
import type { DestinationsView } from "../../operators-api.ts";
import { Button, Problem } from "../elements.tsx";
import { Age } from "../time.tsx";
import { act, read, usePage, useProblem, useRepeat } from "./page.tsx";

const refreshMs = 2000;
type Destination = DestinationsView["destinations"][number];

export function Destinations() {
  const { announce } = usePage();
  const { problem, attempt } = useProblem();
  const [view, setView] = useState<DestinationsView>();
  const announcedText = useRef("");

  const show = (request: Promise<DestinationsView>) =>
    attempt(async () => {
      const newView = await request;
      setView(newView);
      const text = describeHealth(newView);
      if (text === undefined || text === announcedText.current) return;
      announcedText.current = text;
      announce(text);
    });
  const check = (names?: string[]) =>
    void show(act<DestinationsView>("destinations/check", { names }));
  useRepeat(refreshMs, () => void show(read<DestinationsView>("destinations")));

  return (
    <>
      <div class="view-head">
        <h2>Destinations</h2>
        <Button onClick={() => check()}>Check all</Button>
      </div>
      <Problem text={problem} />
      <ul class="cards" aria-label="Destinations">
        {view?.destinations.map((each) => (
          <Card key={each.name} destination={each} onCheck={() => check([each.name])} />
        ))}
      </ul>
      {view !== undefined && <Routes routes={view.routes} />}
    </>
  );
}

/** Undefined while checks run. */
function describeHealth({ destinations }: DestinationsView): string | undefined {
  if (destinations.some(({ checking }) => checking)) return undefined;
  const texts = destinations.flatMap(({ name, health }) =>
    health === undefined || health.health === "healthy" ? [] : [`${name} is ${health.health}.`],
  );
  return texts.join(" ") || "All destinations are healthy.";
}

const looks: Readonly<Record<string, string>> = {
  healthy: " good",
  unhealthy: " bad",
  unreachable: " bad",
};

function Card({ destination, onCheck }: { destination: Destination; onCheck(): void }) {
  const { name, health, checkedAtMs, checking } = destination;
  const state = health?.health ?? (checking ? "checking" : "unknown");
  const look = looks[state] ?? "";
  return (
    <li class={`panel card${look}`}>
      <div class="view-head">
        <h3>{name}</h3>
        <span class={`chip${look}`}>{state}</span>
        <Button aria-label={`Check now: ${name}`} onClick={onCheck}>
          Check now
        </Button>
      </div>
      <p>{health?.summary ?? "Not checked yet."}</p>
      <p class="soft">
        {checking && "checking…"}
        {!checking && checkedAtMs !== undefined && (
          <>
            checked <Age atMs={checkedAtMs} form="ago" />
          </>
        )}
        {health?.firstMs !== undefined &&
          ` · first call ${health.firstMs} ms, second ${health.secondMs} ms`}
      </p>
      <p class="soft">
        <code>
          {describeCarrier(destination)} {destination.address}
        </code>
      </p>
      <p class="soft">{listFacts(destination).join(" · ")}</p>
    </li>
  );
}

function describeCarrier({ transport, protocol }: Destination): string {
  return protocol === "a2a" && transport !== "a2a" ? `${transport} (A2A)` : transport;
}

function listFacts({ authorizer, idempotent, deadlineMs, routes, needsDeploy }: Destination) {
  const routeTexts = routes.map(
    ({ position, choice }) => `route ${position}${choice > 1 ? ` (choice ${choice})` : ""}`,
  );
  return [
    `authorizer ${authorizer}`,
    idempotent ? "idempotent" : "not idempotent",
    `deadline ${formatDuration(deadlineMs)}`,
    routeTexts.join(", ") || "no route",
    ...(needsDeploy ? ["not deployed yet"] : []),
  ];
}

function Routes({ routes }: Pick<DestinationsView, "routes">) {
  return (
    <>
      <h3>Routes</h3>
      {routes.length === 0 ? (
        <p class="none">No routes. Users are told that no agent is set up.</p>
      ) : (
        <>
          <p class="soft">The first match wins.</p>
          <ol class="routes">
            {routes.map(({ position, fits, leads }) => (
              <li key={position}>
                <span class="soft">{fits}</span> → <strong>{leads}</strong>
              </li>
            ))}
          </ol>
        </>
      )}
    </>
  );
}
