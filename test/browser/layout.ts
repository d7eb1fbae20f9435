/** Checks that the texts on a page are readable and that everything fits on the screen. */
import type { Locator, Page } from "playwright-core";

/** Runs in the browser. Lists each visible text whose contrast is below 4.5:1 (WCAG 2.2, 1.4.3), except in what is disabled. */
const listFaintTexts = `(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const toRgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  };
  const over = ([r, g, b, a], [r2, g2, b2]) => [r * a + r2 * (1 - a), g * a + g2 * (1 - a), b * a + b2 * (1 - a), 1];
  const ground = (element) => {
    if (element === null) return toRgba("white");
    const own = toRgba(getComputedStyle(element).backgroundColor);
    return own[3] === 1 ? own : over(own, ground(element.parentElement));
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((value) => (value / 255 <= 0.03928 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ratio = (one, other) => {
    const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  };
  const faint = [];
  const judge = (element, colour, text) => {
    const behind = ground(element);
    const found = ratio(over(toRgba(colour), behind), behind);
    if (found < 4.5) faint.push(text.trim().slice(0, 40) + " " + found.toFixed(2));
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const element = node.parentElement;
    if (node.textContent.trim() === "" || !element.checkVisibility() || element.closest(":disabled, script, style, option")) continue;
    judge(element, getComputedStyle(element).color, node.textContent);
  }
  for (const field of document.querySelectorAll("[placeholder]")) {
    judge(field, getComputedStyle(field, "::placeholder").color, field.placeholder);
  }
  return faint;
})()`;

export async function faintTexts(page: Page): Promise<string[]> {
  return [...new Set((await page.evaluate(listFaintTexts)) as string[])];
}

/** How far the page can be scrolled sideways, in pixels. */
export async function overflow(page: Page): Promise<number> {
  const expression = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
  return Number(await page.evaluate(expression));
}

/** How many rows the elements stand in. */
export async function rowsOf(elements: Locator): Promise<number> {
  const tops = await elements.evaluateAll((all) =>
    all.map((each) => Math.round(each.getBoundingClientRect().top)),
  );
  return new Set(tops).size;
}
