//! What a changed poll costs here: reading a page of 7 KB, and describing how it differs from the one before.
//!
//! `cargo bench -p detect`. The daemon means to do a thousand changed polls a second on a core, so both together must
//! stay well under a millisecond. Of a page that is mostly tags, nine tenths of the read is html5ever.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use detect::{Limits, Rule, RuleText, diff, read, words};

/// As in the program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const HEAD: &str = "<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>Shop</title><link rel=stylesheet \
    href=/style.css><script>window.state = {\"user\": null, \"token\": \"0123456789abcdef\"};</script></head><body>";

/// Mostly tags: a shop's list of articles.
fn table(price: u32) -> String {
    let rows: String = (0..44)
        .map(|n| {
            let price = if n == 20 { price } else { 10 + n };
            format!(
                "<tr class=\"row\"><td><a href=\"/article/{n}\" title=\"to the article\">Article {n}</a></td>\
                 <td class=\"price\">{price}.00&nbsp;€</td><td>in <b>stock</b></td></tr>\n"
            )
        })
        .collect();
    format!("{HEAD}<main><h1>Articles</h1><table>{rows}</table></main><footer>© us</footer>")
}

/// Mostly words: a report.
fn prose(price: u32) -> String {
    let nav: String = (0..12)
        .map(|n| format!("<li class=\"nav-item\"><a href=\"/section/{n}\">Section {n}</a></li>\n"))
        .collect();
    let paragraphs: String = (0..14)
        .map(|n| {
            let said =
                "the boats came in late and the market had little to sell that day, ".repeat(5);
            format!(
                "<p class=\"text\">On day {n} {said}at <em>{}</em> a crate.</p>\n",
                if n == 7 { price } else { n }
            )
        })
        .collect();
    format!(
        "{HEAD}<nav><ul>{nav}</ul></nav><main><h1>The harbour</h1>{paragraphs}</main><footer>© us</footer>"
    )
}

fn reads(c: &mut Criterion) {
    let limits = Limits::default();
    let mut group = c.benchmark_group("read 7 KB");
    for (name, page, select) in [
        ("mostly tags", table(12), vec![]),
        ("mostly words", prose(12), vec![]),
        ("mostly words, select main", prose(12), vec!["main".to_owned()]),
    ] {
        let rule = Rule::new(&RuleText { select, ..RuleText::default() }).expect("a rule");
        group.throughput(Throughput::Bytes(page.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| read(&rule, black_box(page.as_bytes()), Some("text/html"), &limits));
        });
    }
    group.finish();
}

fn diffs(c: &mut Criterion) {
    let limits = Limits::default();
    let text = |page: String| {
        read(&Rule::default(), page.as_bytes(), Some("text/html"), &limits).expect("a page").text
    };
    let (before, after) = (text(prose(12)), text(prose(14)));
    let mut group = c.benchmark_group("diff 7 KB, one word changed");
    group.bench_function("lines", |b| {
        b.iter(|| diff(black_box(&before), black_box(&after), &limits));
    });
    group.bench_function("words", |b| {
        b.iter(|| words(black_box(&before), black_box(&after), &limits));
    });
    group.finish();
}

criterion_group!(benches, reads, diffs);
criterion_main!(benches);
