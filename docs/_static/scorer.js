/* What helps comes first: tutorials and how-to pages, then names and commands; records come last. */
var Scorer = {
  score: ([docname, title, anchor, descr, score]) => {
    if (/^(acceptance|changelog|contributing|architecture|extending|gpu-report|migration|reproduce)$/.test(docname)) return score - 20;
    if (/^how-to[/]/.test(docname)) return score + 12;
    if (/^tutorials[/]/.test(docname)) return score + 8;
    return score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
