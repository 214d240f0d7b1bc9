// SPDX-FileCopyrightText: Copyright (c) 2026 cufault contributors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The style and the script of the page. The hues are those of Okabe and Ito; their lightness differs, and a word and a symbol stand beside
/// each.
namespace cufault::html_assets {

inline constexpr const char* style = R"(
:root{color-scheme:light dark;--fg:#1b1b1b;--bg:#fff;--soft:#f3f4f6;--line:#c9ccd1;--dim:#55595f;--link:#00508a;
--right:#56b4e9;--fails:#f0e442;--worse:#d55e00;--mixed:#0072b2;--none:#999}
@media (prefers-color-scheme:dark){:root{--fg:#ececec;--bg:#16181b;--soft:#22252a;--line:#454a52;--dim:#a9afb8;--link:#7cc4f5}}
*{box-sizing:border-box}
body{margin:0;font:16px/1.45 system-ui,sans-serif;color:var(--fg);background:var(--bg)}
header,main,footer{max-width:88rem;margin:auto;padding:.5rem 1rem}
h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.25rem;margin:2rem 0 .5rem;border-bottom:2px solid var(--line)}
h3{font-size:1.05rem;margin:1.2rem 0 .4rem}p{margin:.4rem 0}a{color:var(--link)}
:focus-visible{outline:3px solid #d55e00;outline-offset:2px}
.skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;background:var(--bg);padding:.5rem;z-index:2}
.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
nav ul{list-style:none;display:flex;flex-wrap:wrap;gap:.3rem 1rem;padding:0;margin:.5rem 0}
form{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:end;position:sticky;top:0;background:var(--bg);padding:.5rem 0;z-index:1;
border-bottom:1px solid var(--line)}form[hidden]{display:none}form div{min-width:0;max-width:100%}
label{display:block;font-size:.85rem;color:var(--dim)}
input,select,button{font:inherit;color:inherit;background:var(--bg);border:1px solid var(--dim);border-radius:3px;padding:.3rem .5rem;max-width:100%}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;width:100%;margin:.4rem 0 1rem}
th,td{border:1px solid var(--line);padding:.3rem .5rem;text-align:left;vertical-align:top;overflow-wrap:break-word}
thead th{background:var(--soft)}th[scope=row]{font-weight:600}
.arms td,.arms th[scope=row]{overflow-wrap:anywhere}.arms th[scope=row]{width:24%}small{font-weight:400}.arms td:nth-child(2){width:11rem}
code{font:.85em ui-monospace,monospace;overflow-wrap:anywhere}
small{color:var(--dim);display:block}
details{margin:.3rem 0}summary{cursor:pointer}
details.case>summary{font-weight:600;padding:.2rem 0}
.tag{display:inline-block;border:1px solid var(--fg);border-radius:3px;padding:0 .4rem;font-size:.8rem;font-weight:600;white-space:nowrap}
.right{background:var(--right);color:#000}.fails{background:var(--fails);color:#000}.worse{background:var(--worse);color:#000}
.mixed{background:var(--mixed);color:#fff}
.none,.matrix td:not([class]){background:repeating-linear-gradient(45deg,transparent 0 5px,var(--line) 5px 6px)}
.matrix td:not([class]) details{background:var(--bg)}.unseen{background:var(--none);color:#000}
.matrix table{width:auto}.matrix td{min-width:6.5rem;font-size:.85rem}.matrix td:not([class]){min-width:2rem}
.matrix thead th,.matrix th{font-size:.85rem}.matrix td details[open]{width:18rem;max-width:75vw}
.matrix td code{color:inherit}.matrix td a{color:inherit}.matrix td small{color:inherit}
.matrix th:first-child{position:sticky;left:0;background:var(--soft)}
.key{display:flex;flex-wrap:wrap;gap:.3rem .6rem;list-style:none;padding:0;margin:.4rem 0}
svg{display:block;max-width:100%;height:auto;margin:.5rem 0;background:var(--bg)}
svg text{fill:var(--fg);font:12px system-ui,sans-serif}svg .axis{stroke:var(--dim);stroke-width:1}
svg .b{stroke:var(--fg);stroke-width:.5}svg .f-right{fill:var(--right)}svg .f-fails{fill:var(--fails)}svg .f-worse{fill:var(--worse)}
svg .f-mixed{fill:var(--mixed)}svg .f-none{fill:var(--none)}svg .l{fill:none;stroke:var(--fg);stroke-width:2}
svg.wide{min-width:40rem}
@media (max-width:40rem){header,main,footer{padding:.4rem .6rem}th,td{padding:.2rem .3rem}.arms td:nth-child(2){width:auto}
form{position:static}.arms table,.arms tbody{display:block}.arms thead{display:none}.arms tr{display:block;border:1px solid var(--line);margin:.4rem 0}
.arms tr[hidden]{display:none}.arms th[scope=row],.arms td,.arms td:nth-child(2){display:block;width:auto;border:0}}
@media print{form,nav,.skip{display:none!important}body{font-size:10pt}a{color:inherit;text-decoration:none}details{break-inside:avoid}
.scroll{overflow:visible}.right,.fails,.worse,.mixed,.unseen,svg *{print-color-adjust:exact;-webkit-print-color-adjust:exact}h2{break-after:avoid}}
)";

/// Hides rows that do not match, and folds cases without any. Without it all rows are shown and the form is not.
inline constexpr const char* script = R"(
(function(){'use strict';
var form=document.getElementById('filter'),found=document.getElementById('found');
if(!form)return;
form.hidden=false;
var rows=Array.prototype.slice.call(document.querySelectorAll('tr[data-f]')).map(function(r){
var stacks=r.querySelector('td>.tag+small');
return{at:r,text:((r.closest('details.case')||r).getAttribute('data-c')||'')+' '+r.textContent.toLowerCase(),
verdict:stacks&&stacks.previousElementSibling.textContent,
stacks:' '+(stacks?stacks.textContent.replace(/^stacks?:|,/g,''):'')+' '}});
var cases=Array.prototype.slice.call(document.querySelectorAll('details.case'));
function apply(){
var words=form.q.value.toLowerCase().split(/\s+/).filter(Boolean),v=form.v.value,s=form.s.value,n=0,on=words.length>0||v!==''||s!=='';
rows.forEach(function(r){
var show=words.every(function(w){return r.text.indexOf(w)>=0})&&(v===''||r.verdict===v)&&
(s===''||r.stacks.indexOf(' '+s+' ')>=0);
r.at.hidden=!show;if(show)n++});
cases.forEach(function(c){var any=c.querySelector('tr[data-f]:not([hidden])')!==null;c.hidden=on&&!any;c.open=on&&any});
found.textContent=on?n+' of '+rows.length+' rows match':rows.length+' rows'}
form.addEventListener('input',apply);
form.addEventListener('submit',function(e){e.preventDefault()});
form.addEventListener('reset',function(){setTimeout(apply,0)});
var folded=[];
addEventListener('beforeprint',function(){folded=Array.prototype.filter.call(document.querySelectorAll('details'),function(d){return!d.open});
folded.forEach(function(d){d.open=true})});
addEventListener('afterprint',function(){folded.forEach(function(d){d.open=false})});
apply()})();
)";

}  // namespace cufault::html_assets
