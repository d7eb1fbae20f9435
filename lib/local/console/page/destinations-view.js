/** The destinations with their health, and the routes that lead to them. */
import { h, redraw } from "../../web/dom.js";
import { errorBox } from "../../web/server.js";
import { durationText } from "../../web/timeline.js";
import { act, ageOf, read, repeat } from "./view.js";

const lookEveryMs = 2000;

export function destinationsView({ box, say, left }) {
  let announced = "";
  const cards = h("ul.cards", { "aria-label": "Destinations" });
  const routes = h("ol.routes");
  const problem = errorBox();
  box.append(
    h(
      "div.view-head",
      h("h2", "Destinations"),
      h("button.quiet", { onclick: () => check() }, "Check all"),
    ),
    problem.box,
    cards,
    h("h3", "Routes"),
    h("p.soft", "The first match wins."),
    routes,
  );

  const show = (asked) =>
    problem.attempt(async () => {
      const view = await asked;
      if (left.aborted) return;
      redraw(cards, view.destinations.map(drawCard));
      routes.replaceChildren(...drawRoutes(view));
      if (!view.destinations.some(({ checking }) => checking)) announce(view.destinations);
    });

  /** Says only what is new. */
  function announce(destinations) {
    const bad = destinations.filter(
      ({ health }) => health !== undefined && health.health !== "healthy",
    );
    const said = bad.map(({ name, health }) => `${name} is ${health.health}.`).join(" ");
    const text = said || "All destinations are healthy.";
    if (text !== announced) say(text);
    announced = text;
  }

  const check = (name) =>
    show(act("destinations/check", name === undefined ? {} : { names: [name] }));

  function drawCard({ name, health, checkedAtMs, checking, ...row }) {
    const state = health?.health ?? (checking ? "checking" : "unknown");
    const look = { healthy: ".good", unhealthy: ".bad", unreachable: ".bad" }[state] ?? "";
    const again = { "data-key": `check/${name}`, onclick: () => check(name) };
    const checked = checkedAtMs !== undefined && ["checked ", ageOf(checkedAtMs, "ago")];
    const times =
      health?.firstMs !== undefined &&
      ` · first call ${health.firstMs} ms, second ${health.secondMs} ms`;
    return h(
      `li.panel.card${look}`,
      h(
        "div.view-head",
        h("h3", name),
        h(`span.chip${look}`, state),
        h("button.quiet", again, "Check now"),
      ),
      h("p", health?.summary ?? "Not checked yet."),
      h("p.soft", checking ? "checking…" : checked, times),
      h("p.soft", h("code", `${carrierOf(row)} ${row.address}`)),
      h("p.soft", factsOf(row)),
    );
  }

  repeat(lookEveryMs, () => show(read("destinations")), left);
  return { title: "Destinations" };
}

function carrierOf({ transport, protocol }) {
  return protocol === "a2a" && transport !== "a2a" ? `${transport} (A2A)` : transport;
}

function factsOf({ authorizer, idempotent, deadlineMs, routes, needsDeploy }) {
  const leading = routes.map(
    ({ position, choice }) => `route ${position}${choice > 1 ? ` (choice ${choice})` : ""}`,
  );
  return [
    `authorizer ${authorizer}`,
    idempotent ? "idempotent" : "not idempotent",
    `deadline ${durationText(deadlineMs)}`,
    leading.join(", ") || "no route",
    ...(needsDeploy ? ["not deployed yet"] : []),
  ].join(" · ");
}

function drawRoutes({ routes }) {
  if (routes.length === 0)
    return [h("li.none", "No routes. Users are told that no agent is set up.")];
  return routes.map(({ fits, leads }) => h("li", h("span.soft", fits), " → ", h("strong", leads)));
}
