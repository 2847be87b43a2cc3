#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Clicks through pages of TRELLIS_TRACE in a headless Chromium: browse_page.py PROGRAM FOLDER

PROGRAM is trace_page (TracePage.cpp). Pages and pictures of them go to FOLDER. The status is 77
where there is no Chromium, or nothing to drive it with.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import time
import unittest

SKIPPED = 77
try:
    from selenium import webdriver
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys
except ImportError:
    print("skipped: Python has no selenium (Debian: python3-selenium); ./run browser installs it")
    sys.exit(SKIPPED)
CHROMIUM = shutil.which("chromium")
DRIVER = shutil.which("chromedriver")
if not CHROMIUM or not DRIVER:
    print("skipped: there is no chromium or no chromedriver (Debian: chromium, chromium-driver);"
          " ./run browser installs them")
    sys.exit(SKIPPED)

PROGRAM, FOLDER = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
HOSTILE = "</script><img src=x onerror=\"document.title='broken'\"> & 'more'"
LARGE = 150_000  # tasks, of which a page shows 100 000


def run(*arguments, **environment):
    made = subprocess.run([PROGRAM, *arguments], env={**os.environ, **environment}, check=True,
                          capture_output=True, text=True, timeout=100)
    return made.stderr


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(parents=True)
        cls.said = run("run", TRELLIS_TRACE=str(FOLDER / "trace"))
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        # The page needs no network; root of a container has no sandbox.
        for option in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage",
                       "--disable-gpu", "--window-size=1280,1000", "--force-device-scale-factor=1",
                       "--host-resolver-rules=MAP * ~NOTFOUND", "--disable-background-networking"):
            options.add_argument(option)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        cls.browser = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
        cls.browser.set_page_load_timeout(60)

    @classmethod
    def tearDownClass(cls):
        cls.browser.quit()

    def tearDown(self):
        problems = [entry["message"] for entry in self.browser.get_log("browser")]
        self.assertEqual(problems, [])

    def open(self, page="trace/heat-1/index.html", width=1280, height=1000, dark=False):
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
        self.browser.get("about:blank")
        self.browser.get((FOLDER / page).as_uri())

    def one(self, selector):
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def js(self, script, *arguments):
        return self.browser.execute_script(script, *arguments)

    def picture(self, name):
        time.sleep(0.2)  # frames are drawn
        self.browser.save_screenshot(str(FOLDER / (name + ".png")))

    def index(self, label):
        return self.js("const D = trellis.D; return D.label.findIndex("
                       "l => D.texts[l] === arguments[0])", label)

    def click_on_timeline(self, label, hover=False):
        canvas = self.one("#timeline")
        self.js("arguments[0].scrollIntoView({block: 'center'})", canvas)
        x, y = self.js("return trellis.timeline.where(arguments[0])", self.index(label))
        size = canvas.size
        mouse = ActionChains(self.browser, duration=20)
        mouse.move_to_element_with_offset(canvas, x - size["width"] / 2, y - size["height"] / 2)
        (mouse if hover else mouse.click()).perform()

    def panel(self):
        return self.one("#panel").text

    def test_the_folder_has_all_files_and_a_page_that_leads_to_them(self):
        for graph in ("heat-1", "long-run-1"):
            names = {file.name for file in (FOLDER / "trace" / graph).iterdir()}
            self.assertEqual(names, {
                "analysis.txt", "graph.dot", "graph.svg", "index.html", "statistics.csv",
                "statistics.svg", "statistics.txt", "summary.txt", "timeline.svg", "trace.json"})
        self.assertIn("the trace of heat (", self.said)
        self.open("trace/index.html")
        links = self.all(".entry a")
        self.assertEqual([link.text for link in links], ["long run", "heat"])  # the newest first
        self.picture("list")
        next(link for link in links if link.text == "heat").click()
        self.assertEqual(self.one("#title").text, "heat")
        self.assertEqual(self.js("return document.title"), "heat")

    def test_pictures_alone_are_well_formed(self):
        for picture in ("timeline.svg", "graph.svg", "statistics.svg"):
            self.open("trace/heat-1/" + picture)
            self.assertEqual(self.js("return document.documentElement.nodeName"), "svg", picture)
            self.assertEqual(self.js("return document.querySelectorAll('parsererror').length"), 0)
            if picture == "graph.svg":
                self.picture("graph")

    def test_nothing_comes_from_outside(self):
        self.open()
        self.assertEqual(self.js("return performance.getEntriesByType('resource').length"), 0)
        self.assertEqual(self.js("return [...document.querySelectorAll('[src],link')].length"), 0)

    def test_a_click_on_the_timeline_shows_a_task(self):
        self.open()
        self.assertIn("Click a task", self.panel())
        self.click_on_timeline("update 1 step 2")
        text = self.panel()
        self.assertIn("update 1 step 2", text)
        for part in ("Worker", "Took", "Began", "Ended", "host_task", "#"):
            self.assertIn(part, text)
        rows = [[cell.text for cell in row.find_elements(By.CSS_SELECTOR, "td")]
                for row in self.all("#panel table tr")[1:]]
        self.assertEqual(sorted(row[1] for row in rows), ["tile0", "tile1", "tile2"])
        for mode, _, area in rows:
            self.assertIn(mode, ("read", "read_write", "read-write", "update"))
            self.assertTrue(area)
        before, after = text.split("Successors")
        self.assertIn("halo 0 step 1", before.split("Predecessors")[1])
        self.assertIn("halo 1 step 2", after)
        self.picture("task")

    def test_a_predecessor_can_be_clicked(self):
        self.open()
        self.click_on_timeline("norm 1")
        button = [b for b in self.all("#panel .task") if b.text.startswith("update 3 step 1")][0]
        self.js("arguments[0].scrollIntoView()", button)
        button.click()
        self.assertTrue(self.one("#panel h2").text.strip().startswith("update 3 step 1"))
        self.assertIn("norm 1", self.panel().split("Successors")[1])
        self.assertIn("#task-", self.js("return location.hash"))
        self.one("#close").click() if self.one("#close").is_displayed() else \
            ActionChains(self.browser).send_keys(Keys.ESCAPE).perform()
        self.assertIn("Click a task", self.one("#panel").get_attribute("textContent"))

    def test_the_critical_path_stands_out(self):
        self.open()
        path = self.js("return trellis.D.critical")
        self.assertGreater(len(path), 3)
        on = self.js("return trellis.D.texts[trellis.D.label[arguments[0]]]", path[2])
        self.click_on_timeline(on)
        self.assertIn("on the critical path", self.panel())
        off = self.js("const D = trellis.D, on = new Set(D.critical); return D.texts[D.label["
                      "D.id.findIndex((_, k) => !on.has(k) && D.state[k] === 3)]]")
        self.click_on_timeline(off)
        self.assertNotIn("on the critical path", self.panel())
        drawn = "return document.querySelector('#timeline').toDataURL()"
        plain = self.js(drawn)
        self.one("#show-critical").click()
        self.picture("critical")
        self.assertEqual(self.one("#show-critical").get_attribute("aria-pressed"), "true")
        self.assertNotEqual(self.js(drawn), plain)
        self.assertEqual(len(self.all(".graph:not([hidden]) .tg-path")), len(path))

    def test_the_timeline_zooms_and_pans_and_has_tooltips(self):
        self.open()
        window = "return [trellis.timeline.window.from, trellis.timeline.window.to]"
        whole = self.js(window)
        self.click_on_timeline("norm 3", hover=True)
        self.assertIn("norm 3", self.one("#tip").text)
        self.assertIn("from", self.one("#tip").text)
        for _ in range(3):
            self.one("#zoom-in").click()
        near = self.js(window)
        self.assertLess(near[1] - near[0], (whole[1] - whole[0]) / 3)
        ActionChains(self.browser, duration=50).move_to_element(self.one("#timeline")) \
            .click_and_hold().move_by_offset(-120, 0).release().perform()
        moved = self.js(window)
        self.assertGreater(moved[0], near[0])
        self.assertAlmostEqual(moved[1] - moved[0], near[1] - near[0], delta=1)
        self.one("#zoom-fit").click()
        self.assertEqual(self.js(window), whole)

    def test_a_click_in_the_graph_shows_a_task(self):
        self.open()
        nodes = self.all(".graph:not([hidden]) .tg-n")
        self.assertEqual(len(nodes), len(self.js("return trellis.D.id")))
        node = [n for n in nodes if "norm 1" in n.get_attribute("textContent")][0]
        self.js("arguments[0].scrollIntoView({block: 'center'})", node)
        node.find_element(By.CSS_SELECTOR, "rect").click()
        self.assertIn("norm 1", self.panel())
        self.assertIn("sel", node.get_attribute("class"))
        self.assertTrue(self.all(".graph:not([hidden]) .tg-e.before"))
        # No edge is drawn that follows from others: what is before step 1 is before its update.
        edges = self.js("return [...document.querySelectorAll('.graph:not([hidden]) .tg-e')].map("
                        "e => [+e.dataset.from, +e.dataset.to])")
        names = [n.get_attribute("textContent") for n in nodes]
        self.assertTrue([1 for a, b in edges if "halo 0 step 0" in names[a]
                         and "update 1 step 1" in names[b]])
        self.assertFalse([1 for a, b in edges if "update 0 step 0" in names[a]
                          and "update 0 step 1" in names[b]])

    def test_more_than_200_tasks_are_folded(self):
        self.open("trace/long-run-1/index.html")
        self.assertGreater(len(self.js("return trellis.D.id")), 200)
        levels = self.all("#folds .level")
        self.assertEqual([b.text.split(" (")[0] for b in levels], ["by label and step", "by label"])
        self.assertLessEqual(len(self.all(".graph:not([hidden]) .tg-n")), 200)
        levels[1].click()
        nodes = self.all(".graph:not([hidden]) .tg-n")
        node = [n for n in nodes if "update *" in n.get_attribute("textContent")][0]
        self.js("arguments[0].scrollIntoView({block: 'center'})", node)
        node.find_element(By.CSS_SELECTOR, "rect").click()
        self.assertIn("180 tasks", self.panel())
        self.all("#panel .task")[-1].click()
        self.assertIn("Accesses", self.panel())
        self.picture("folded")

    def test_labels_are_text(self):
        self.open()
        self.click_on_timeline(HOSTILE)
        self.assertIn(HOSTILE, self.panel())
        self.assertEqual(self.js("return document.title"), "heat")
        self.assertFalse(self.all("img"))

    def test_what_failed_and_was_cancelled_can_be_found(self):
        self.open()
        self.click_on_timeline("write log")
        self.assertIn("failed", self.panel())
        [b for b in self.all("#panel .task") if "send log" in b.text][0].click()
        self.assertIn("cancelled", self.panel())
        self.assertIn("did not run", self.panel())

    def test_search_and_legend_light_tasks(self):
        self.open()
        self.one("#find").send_keys("norm")
        self.assertEqual(self.one("#found").text, "2 tasks")
        self.one("#find").send_keys(Keys.ENTER)
        self.assertIn("norm 1", self.panel())
        self.assertTrue(self.all(".graph:not([hidden]) .tg-n.dim"))
        self.all("#legend button")[0].click()
        self.assertEqual(self.one("#find").get_attribute("value"), "")

    def test_a_link_leads_to_a_task(self):
        self.open("trace/heat-1/index.html")
        task = self.js("return trellis.D.id[arguments[0]]", self.index("norm 3"))
        self.browser.get("about:blank")
        self.browser.get((FOLDER / "trace/heat-1/index.html").as_uri() + "#task-" + str(task))
        self.assertIn("norm 3", self.panel())

    def test_analysis_and_statistics_are_there(self):
        self.open()
        self.assertIn("critical path", self.one("#analysis").text)
        self.assertIn("predicted, the same machine", self.one("#analysis").text)
        labels = [row.text for row in self.all("#labels tr")[1:]]
        self.assertTrue(any(row.strip().startswith("norm n 2") for row in labels), labels)

    def test_light_and_dark_wide_and_narrow(self):
        for width, height in ((1280, 1000), (390, 844)):
            for dark in (False, True):
                self.open(width=width, height=height, dark=dark)
                wide = self.js("return [...document.querySelectorAll('body *')].filter(e => "
                               "e.getBoundingClientRect().right > innerWidth + 1 && !e.closest("
                               "'pre,.wide,svg')).map(e => e.outerHTML.slice(0, 80))")
                self.assertEqual(wide, [])
                self.assertLessEqual(self.js("return document.documentElement.scrollWidth"), width)
                self.js("trellis.choose(arguments[0])", self.index("norm 1"))
                self.picture(f"page-{width}-{'dark' if dark else 'light'}")
                if width < 600:
                    self.one("#close").click()
                tall = self.js("return document.documentElement.scrollHeight")
                self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
                    "width": width, "height": tall, "deviceScaleFactor": 1,
                    "mobile": width < 600})
                self.picture(f"whole-{width}-{'dark' if dark else 'light'}")

    def test_a_large_trace_is_cut_and_says_so(self):
        run("large", str(FOLDER / "large.html"), str(LARGE))
        begin = time.time()
        self.open("large.html")
        self.js("trellis.timeline.fit()")
        self.assertLess(time.time() - begin, 30)
        print(f"{(FOLDER / 'large.html').stat().st_size / 1e6:.1f} MB open in "
              f"{time.time() - begin:.1f} s")
        self.assertIn("100000 of 150000 tasks", self.one(".note").text)
        self.assertEqual(self.js("return trellis.D.id.length"), 100_000)
        self.js("trellis.choose(5000)")
        self.assertIn("Predecessors", self.panel())
        self.picture("large")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
