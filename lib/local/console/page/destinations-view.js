/** The destinations with their health, and the routes that lead to them. */
import { button, element, redraw } from "../../web/dom.js";
import { act, read } from "./api.js";
import { ageOf, durationText } from "./words.js";

const lookEveryMs = 10_000;
const whileCheckingMs = 700;

export function destinationsView({ box, say }) {
  let hasLeft = false;
  let timer;
  let told = "";
  const cards = element("ul", "cards");
  cards.setAttribute("aria-label", "Destinations");
  const routes = element("ol", "routes");
  const problem = element("p", "problem");
  problem.setAttribute("role", "alert");
  const checkAll = button({ className: "quiet", label: "Check all", key: "check", onClick: () => check() });
  const heads = element("div", "view-head", element("h2", "", "Destinations"), checkAll);
  box.replaceChildren(
    heads,
    problem,
    cards,
    element("h3", "", "Routes"),
    element("p", "soft", "The first that fits decides."),
    routes,
  );

  async function look() {
    clearTimeout(timer);
    if (document.visibilityState === "visible") await shown(read("destinations"));
  }

  async function shown(asked) {
    clearTimeout(timer);
    let isChecking = false;
    try {
      const view = await asked;
      if (hasLeft) return;
      problem.textContent = "";
      isChecking = view.destinations.some(({ checking }) => checking);
      redraw(cards, view.destinations.map(card));
      routes.replaceChildren(...routesOf(view));
      if (!isChecking) tell(view.destinations);
    } catch (error) {
      problem.textContent = error.message;
    }
    if (!hasLeft) timer = setTimeout(look, isChecking ? whileCheckingMs : lookEveryMs);
  }

  /** Only what is new. */
  function tell(destinations) {
    const bad = destinations.filter(({ health }) => health !== undefined && health.health !== "healthy");
    const words =
      bad.length === 0
        ? "All destinations are healthy."
        : bad.map(({ name, health }) => `${name} is ${health.health}.`).join(" ");
    if (words !== told) say(words);
    told = words;
  }

  const check = (name) => shown(act("destinations/check", name === undefined ? {} : { names: [name] }));

  function card(row) {
    const { name, health, checkedAtMs, checking } = row;
    const state = checking && health === undefined ? "checking" : (health?.health ?? "unknown");
    const seen = checking
      ? ["checking …"]
      : checkedAtMs === undefined
        ? []
        : ["checked ", ageOf(checkedAtMs, { ago: true })];
    const times =
      health?.firstMs === undefined ? [] : [` · first call ${health.firstMs} ms, second ${health.secondMs} ms`];
    const onClick = () => check(name);
    return element(
      "li",
      `card ${state}`,
      element(
        "div",
        "card-head",
        element("h3", "", name),
        element("span", "health", state),
        button({ className: "quiet", label: "Check now", key: `check/${name}`, onClick }),
      ),
      element("p", "words", health?.words ?? "Not checked yet."),
      element("p", "soft", ...seen, ...times),
      element("p", "soft mono", `${row.transport} ${row.address}`),
      element("p", "soft", factsOf(row)),
    );
  }

  function onVisible() {
    if (document.visibilityState === "visible") void look();
  }
  document.addEventListener("visibilitychange", onVisible);
  void look();
  return {
    title: "Destinations",
    keys: {},
    leave() {
      hasLeft = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onVisible);
    },
  };
}

function factsOf({ authorizer, idempotent, deadlineMs, routes, needsDeploy }) {
  return [
    `authorizer ${authorizer}`,
    idempotent ? "idempotent" : "not idempotent",
    `deadline ${durationText(deadlineMs)}`,
    routes.length === 0
      ? "no route leads here"
      : routes.map(({ place, choice }) => `route ${place}${choice > 1 ? ` (choice ${choice})` : ""}`).join(", "),
    ...(needsDeploy ? ["not deployed so"] : []),
  ].join(" · ");
}

function routesOf({ routes }) {
  if (routes.length === 0)
    return [element("li", "none", "There is none: whoever asks is told that no agent is set up.")];
  return routes.map(({ fits, leads }) =>
    element("li", "", element("span", "fits", fits), " → ", element("strong", "", leads)),
  );
}
