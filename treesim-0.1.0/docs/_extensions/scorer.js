// Order of search results: exact names and pages that explain come before members, long lists and the project's history.
var Scorer = {
  objNameMatch: 30,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 0, 2: -5 },
  objPrioDefault: 0,
  title: 30,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,

  // result: [page, title, anchor, description, score, file, kind]
  score: ([page, , anchor, , score, , kind]) => {
    // An entry of the index repeats the name of an object, except where a page has the directive index.
    if (kind === "index" && !anchor.startsWith("#index-")) score /= 4;
    if (/^(changes|contributing|developers|security|project)$/.test(page)) return score - 12;
    if (/^(conformance|findings|readers|robots|contact_robots|results\/.*|cli)$/.test(page)) return score - 6;
    if (/^(tutorials\/.*|glossary)$/.test(page)) return score + 3;
    return score;
  },
};
