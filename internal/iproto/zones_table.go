package iproto

// The zones that DATETIME refers to by number, as in src/lib/tzcode/timezones.h
// of the server. The numbers are the same in all versions since 2.10.

// zoneAbbreviations: index, name, minutes east of UTC; without minutes, the
// abbreviation is ambiguous.
const zoneAbbreviations = `
1:A:60 2:B:120 3:C:180 4:D:240 5:E:300 6:F:360 7:G:420 8:H:480 9:I:540 10:K:600 11:L:660 12:M:720
13:N:-60 14:O:-120 15:P:-180 16:Q:-240 17:R:-300 18:S:-360 19:T:-420 20:U:-480 21:V:-540 22:W:-600
23:X:-660 24:Y:-720 25:Z:0 32:AT: 40:BT: 48:CT: 56:ET: 64:GT:0 72:IT: 80:KT:540 88:MT: 96:PT:
104:ST:780 112:UT:0 120:WT:0 128:ACT: 129:ADT: 130:AET: 131:AFT:270 132:AMT: 133:AoE:-720
134:ART:-180 135:AST: 136:AZT:240 144:BDT: 145:BNT:480 146:BOT:-240 147:BRT:-180 148:BST:
149:BTT:360 152:CAT:120 153:CCT:390 154:CDT: 155:CET:60 156:CIT:-300 157:CKT:-600 158:CLT:-180
159:COT:-300 160:CST: 161:CVT:-60 162:CXT:420 168:EAT:180 169:ECT: 170:EDT: 171:EET:120 172:EGT:-60
173:EST: 176:FET:180 177:FJT:720 178:FKT:-240 179:FNT:-120 184:GET:240 185:GFT:-180 186:GMT:0
187:GST: 188:GYT:-240 192:HAA:-180 193:HAC:-300 194:HAE:-240 195:HAP:-420 196:HAR:-360 197:HAT:-90
198:HDT:-540 199:HKT:480 200:HLV:-210 201:HNA:-240 202:HNC:-360 203:HNE:-300 204:HNP:-480
205:HNR:-420 206:HNT:-150 207:HST:-600 208:ICT:420 209:IDT: 210:IOT:360 211:IST: 216:JST:540
224:KGT:360 225:KIT:300 226:KST:540 232:MCK:180 233:MDT:-360 234:MEZ:60 235:MHT:720 236:MMT:390
237:MSD:240 238:MSK:180 239:MST: 240:MUT:240 241:MVT:300 242:MYT:480 248:NCT:660 249:NDT:-90
250:NFT:660 251:NPT:345 252:NRT:720 253:NST:-150 254:NUT:-660 256:OEZ:120 264:PDT:-420 265:PET:-300
266:PGT:600 267:PHT:480 268:PKT:300 269:PST: 270:PWT:540 271:PYT: 272:RET:240 280:SBT:660
281:SCT:240 282:SGT:480 283:SRT:-180 284:SST: 288:TFT:300 289:TJT:300 290:TKT:780 291:TLT:540
292:TMT:300 293:TOT:780 294:TRT:180 295:TVT:720 296:UTC:0 297:UYT:-180 298:UZT:300 304:VET:-210
305:VUT:660 312:WAT: 313:WDT:540 314:WET:0 315:WEZ:0 316:WFT:720 317:WGT:-180 318:WIB:420
319:WIT:540 320:WST: 328:ACDT:630 329:ACST:570 330:ADST: 331:AEDT:660 332:AEST:600 333:AKDT:-480
334:AKST:-540 335:ALMT:360 336:AMDT:300 337:AMST: 338:ANAT:720 339:AQTT:300 340:AWDT:540
341:AWST:480 342:AZOT:-60 343:AZST:300 344:BDST:60 345:BRST:-120 352:CAST:480 353:CDST: 354:CEDT:120
355:CEST:120 356:CHOT:480 357:ChST:600 358:CHUT:600 359:CIST:-300 360:CLDT:-180 361:CLST:
368:DAVT:420 369:DDUT:600 376:EADT:-300 377:EAST:-300 378:ECST:120 379:EDST: 380:EEDT:180
381:EEST:180 382:EGST:0 384:FJDT:780 385:FJST:780 386:FKDT:-180 387:FKST: 392:GALT:-360
393:GAMT:-540 394:GILT:720 400:HADT:-540 401:HAST:-600 402:HOVT:420 408:IRDT:270 409:IRKT:480
410:IRST: 416:KOST:660 417:KRAT:420 418:KUYT:240 424:LHDT:660 425:LHST:630 426:LINT:840 432:MAGT:600
433:MART:-510 434:MAWT:300 435:MDST:-360 436:MESZ:120 440:NFDT:720 441:NOVT:360 442:NZDT:780
443:NZST:720 448:OESZ:180 449:OMST:360 450:ORAT:300 456:PDST:-420 457:PETT:720 458:PHOT:780
459:PMDT:-120 460:PMST:-180 461:PONT:660 462:PYST: 464:QYZT:360 472:ROTT:-180 480:SAKT:600
481:SAMT:240 482:SAST:120 483:SRET:660 484:SYOT:180 488:TAHT:-600 489:TOST:840 496:ULAT:480
497:UYST:-120 504:VLAT:600 505:VOST:360 512:WAKT:720 513:WAST:120 514:WEDT:60 515:WEST:60
516:WESZ:60 517:WGST:-120 518:WITA:480 520:YAKT:540 521:YAPT:600 522:YEKT:300 528:ACWST:525
529:ANAST:720 530:AZODT:0 531:AZOST: 536:CHADT:825 537:CHAST:765 538:CHODT:540 539:CHOST:540
540:CIDST:-240 544:EASST:-300 545:EFATE:660 552:HOVDT:480 553:HOVST:480 560:IRKST:540 568:KRAST:480
576:MAGST:720 584:NACDT:-300 585:NACST:-360 586:NAEDT:-240 587:NAEST:-300 588:NAMDT:-360
589:NAMST:-420 590:NAPDT:-420 591:NAPST:-480 592:NOVST:420 600:OMSST:420 608:PETST:720 616:SAMST:240
624:ULAST:540 632:VLAST:660 640:WARST:-180 648:YAKST:600 649:YEKST:360 656:CHODST:540 664:HOVDST:480
`

// zoneNames: index, name in the tz database.
const zoneNames = `
672:Africa/Abidjan 673:Africa/Algiers 674:Africa/Bissau 675:Africa/Cairo 676:Africa/Casablanca
677:Africa/Ceuta 678:Africa/El_Aaiun 679:Africa/Johannesburg 680:Africa/Juba 681:Africa/Khartoum
682:Africa/Lagos 683:Africa/Maputo 684:Africa/Monrovia 685:Africa/Nairobi 686:Africa/Ndjamena
687:Africa/Sao_Tome 688:Africa/Tripoli 689:Africa/Tunis 690:Africa/Windhoek 691:America/Adak
692:America/Anchorage 693:America/Araguaina 694:America/Argentina/Buenos_Aires
695:America/Argentina/Catamarca 696:America/Argentina/Cordoba 697:America/Argentina/Jujuy
698:America/Argentina/La_Rioja 699:America/Argentina/Mendoza 700:America/Argentina/Rio_Gallegos
701:America/Argentina/Salta 702:America/Argentina/San_Juan 703:America/Argentina/San_Luis
704:America/Argentina/Tucuman 705:America/Argentina/Ushuaia 706:America/Asuncion 707:America/Bahia
708:America/Bahia_Banderas 709:America/Barbados 710:America/Belem 711:America/Belize
712:America/Boa_Vista 713:America/Bogota 714:America/Boise 715:America/Cambridge_Bay
716:America/Campo_Grande 717:America/Cancun 718:America/Caracas 719:America/Cayenne
720:America/Chicago 721:America/Chihuahua 722:America/Costa_Rica 723:America/Cuiaba
724:America/Danmarkshavn 725:America/Dawson 726:America/Dawson_Creek 727:America/Denver
728:America/Detroit 729:America/Edmonton 730:America/Eirunepe 731:America/El_Salvador
732:America/Fort_Nelson 733:America/Fortaleza 734:America/Glace_Bay 735:America/Goose_Bay
736:America/Grand_Turk 737:America/Guatemala 738:America/Guayaquil 739:America/Guyana
740:America/Halifax 741:America/Havana 742:America/Hermosillo 743:America/Indiana/Indianapolis
744:America/Indiana/Knox 745:America/Indiana/Marengo 746:America/Indiana/Petersburg
747:America/Indiana/Tell_City 748:America/Indiana/Vevay 749:America/Indiana/Vincennes
750:America/Indiana/Winamac 751:America/Inuvik 752:America/Iqaluit 753:America/Jamaica
754:America/Juneau 755:America/Kentucky/Louisville 756:America/Kentucky/Monticello
757:America/La_Paz 758:America/Lima 759:America/Los_Angeles 760:America/Maceio 761:America/Managua
762:America/Manaus 763:America/Martinique 764:America/Matamoros 765:America/Mazatlan
766:America/Menominee 767:America/Merida 768:America/Metlakatla 769:America/Mexico_City
770:America/Miquelon 771:America/Moncton 772:America/Monterrey 773:America/Montevideo
774:America/New_York 775:America/Nipigon 776:America/Nome 777:America/Noronha
778:America/North_Dakota/Beulah 779:America/North_Dakota/Center 780:America/North_Dakota/New_Salem
781:America/Nuuk 782:America/Ojinaga 783:America/Panama 784:America/Pangnirtung
785:America/Paramaribo 786:America/Phoenix 787:America/Port-au-Prince 788:America/Porto_Velho
789:America/Puerto_Rico 790:America/Punta_Arenas 791:America/Rainy_River 792:America/Rankin_Inlet
793:America/Recife 794:America/Regina 795:America/Resolute 796:America/Rio_Branco
797:America/Santarem 798:America/Santiago 799:America/Santo_Domingo 800:America/Sao_Paulo
801:America/Scoresbysund 802:America/Sitka 803:America/St_Johns 804:America/Swift_Current
805:America/Tegucigalpa 806:America/Thule 807:America/Thunder_Bay 808:America/Tijuana
809:America/Toronto 810:America/Vancouver 811:America/Whitehorse 812:America/Winnipeg
813:America/Yakutat 814:America/Yellowknife 815:Antarctica/Casey 816:Antarctica/Davis
817:Antarctica/Macquarie 818:Antarctica/Mawson 819:Antarctica/Palmer 820:Antarctica/Rothera
821:Antarctica/Troll 822:Antarctica/Vostok 823:Asia/Almaty 824:Asia/Amman 825:Asia/Anadyr
826:Asia/Aqtau 827:Asia/Aqtobe 828:Asia/Ashgabat 829:Asia/Atyrau 830:Asia/Baghdad 831:Asia/Baku
832:Asia/Bangkok 833:Asia/Barnaul 834:Asia/Beirut 835:Asia/Bishkek 836:Asia/Brunei 837:Asia/Chita
838:Asia/Choibalsan 839:Asia/Colombo 840:Asia/Damascus 841:Asia/Dhaka 842:Asia/Dili 843:Asia/Dubai
844:Asia/Dushanbe 845:Asia/Famagusta 846:Asia/Gaza 847:Asia/Hebron 848:Asia/Ho_Chi_Minh
849:Asia/Hong_Kong 850:Asia/Hovd 851:Asia/Irkutsk 852:Asia/Jakarta 853:Asia/Jayapura
854:Asia/Jerusalem 855:Asia/Kabul 856:Asia/Kamchatka 857:Asia/Karachi 858:Asia/Kathmandu
859:Asia/Khandyga 860:Asia/Kolkata 861:Asia/Krasnoyarsk 862:Asia/Kuala_Lumpur 863:Asia/Kuching
864:Asia/Macau 865:Asia/Magadan 866:Asia/Makassar 867:Asia/Manila 868:Asia/Nicosia
869:Asia/Novokuznetsk 870:Asia/Novosibirsk 871:Asia/Omsk 872:Asia/Oral 873:Asia/Pontianak
874:Asia/Pyongyang 875:Asia/Qatar 876:Asia/Qostanay 877:Asia/Qyzylorda 878:Asia/Riyadh
879:Asia/Sakhalin 880:Asia/Samarkand 881:Asia/Seoul 882:Asia/Shanghai 883:Asia/Singapore
884:Asia/Srednekolymsk 885:Asia/Taipei 886:Asia/Tashkent 887:Asia/Tbilisi 888:Asia/Tehran
889:Asia/Thimphu 890:Asia/Tokyo 891:Asia/Tomsk 892:Asia/Ulaanbaatar 893:Asia/Urumqi
894:Asia/Ust-Nera 895:Asia/Vladivostok 896:Asia/Yakutsk 897:Asia/Yangon 898:Asia/Yekaterinburg
899:Asia/Yerevan 900:Atlantic/Azores 901:Atlantic/Bermuda 902:Atlantic/Canary
903:Atlantic/Cape_Verde 904:Atlantic/Faroe 905:Atlantic/Madeira 906:Atlantic/Reykjavik
907:Atlantic/South_Georgia 908:Atlantic/Stanley 909:Australia/Adelaide 910:Australia/Brisbane
911:Australia/Broken_Hill 912:Australia/Darwin 913:Australia/Eucla 914:Australia/Hobart
915:Australia/Lindeman 916:Australia/Lord_Howe 917:Australia/Melbourne 918:Australia/Perth
919:Australia/Sydney 920:Etc/GMT 921:Etc/UTC 922:Europe/Amsterdam 923:Europe/Andorra
924:Europe/Astrakhan 925:Europe/Athens 926:Europe/Belgrade 927:Europe/Berlin 928:Europe/Brussels
929:Europe/Bucharest 930:Europe/Budapest 931:Europe/Chisinau 932:Europe/Copenhagen 933:Europe/Dublin
934:Europe/Gibraltar 935:Europe/Helsinki 936:Europe/Istanbul 937:Europe/Kaliningrad 938:Europe/Kiev
939:Europe/Kirov 940:Europe/Lisbon 941:Europe/London 942:Europe/Luxembourg 943:Europe/Madrid
944:Europe/Malta 945:Europe/Minsk 946:Europe/Monaco 947:Europe/Moscow 948:Europe/Oslo
949:Europe/Paris 950:Europe/Prague 951:Europe/Riga 952:Europe/Rome 953:Europe/Samara
954:Europe/Saratov 955:Europe/Simferopol 956:Europe/Sofia 957:Europe/Stockholm 958:Europe/Tallinn
959:Europe/Tirane 960:Europe/Ulyanovsk 961:Europe/Uzhgorod 962:Europe/Vienna 963:Europe/Vilnius
964:Europe/Volgograd 965:Europe/Warsaw 966:Europe/Zaporozhye 967:Europe/Zurich 968:Indian/Chagos
969:Indian/Christmas 970:Indian/Cocos 971:Indian/Kerguelen 972:Indian/Mahe 973:Indian/Maldives
974:Indian/Mauritius 975:Indian/Reunion 976:Pacific/Apia 977:Pacific/Auckland
978:Pacific/Bougainville 979:Pacific/Chatham 980:Pacific/Chuuk 981:Pacific/Easter 982:Pacific/Efate
983:Pacific/Fakaofo 984:Pacific/Fiji 985:Pacific/Funafuti 986:Pacific/Galapagos 987:Pacific/Gambier
988:Pacific/Guadalcanal 989:Pacific/Guam 990:Pacific/Honolulu 991:Pacific/Kanton
992:Pacific/Kiritimati 993:Pacific/Kosrae 994:Pacific/Kwajalein 995:Pacific/Majuro
996:Pacific/Marquesas 997:Pacific/Nauru 998:Pacific/Niue 999:Pacific/Norfolk 1000:Pacific/Noumea
1001:Pacific/Pago_Pago 1002:Pacific/Palau 1003:Pacific/Pitcairn 1004:Pacific/Pohnpei
1005:Pacific/Port_Moresby 1006:Pacific/Rarotonga 1007:Pacific/Tahiti 1008:Pacific/Tarawa
1009:Pacific/Tongatapu 1010:Pacific/Wake 1011:Pacific/Wallis
`

// zoneAliases: index of the zone, further name in the tz database.
const zoneAliases = `
672:Africa/Accra 685:Africa/Addis_Ababa 685:Africa/Asmara 685:Africa/Asmera 672:Africa/Bamako
682:Africa/Bangui 672:Africa/Banjul 683:Africa/Blantyre 682:Africa/Brazzaville 683:Africa/Bujumbura
672:Africa/Conakry 672:Africa/Dakar 685:Africa/Dar_es_Salaam 685:Africa/Djibouti 682:Africa/Douala
672:Africa/Freetown 683:Africa/Gaborone 683:Africa/Harare 685:Africa/Kampala 683:Africa/Kigali
682:Africa/Kinshasa 682:Africa/Libreville 672:Africa/Lome 682:Africa/Luanda 683:Africa/Lubumbashi
683:Africa/Lusaka 682:Africa/Malabo 679:Africa/Maseru 679:Africa/Mbabane 685:Africa/Mogadishu
682:Africa/Niamey 672:Africa/Nouakchott 672:Africa/Ouagadougou 682:Africa/Porto-Novo
672:Africa/Timbuktu 789:America/Anguilla 789:America/Antigua 695:America/Argentina/ComodRivadavia
789:America/Aruba 783:America/Atikokan 691:America/Atka 789:America/Blanc-Sablon
694:America/Buenos_Aires 695:America/Catamarca 783:America/Cayman 783:America/Coral_Harbour
696:America/Cordoba 786:America/Creston 789:America/Curacao 789:America/Dominica
808:America/Ensenada 743:America/Fort_Wayne 781:America/Godthab 789:America/Grenada
789:America/Guadeloupe 743:America/Indianapolis 697:America/Jujuy 744:America/Knox_IN
789:America/Kralendijk 755:America/Louisville 789:America/Lower_Princes 789:America/Marigot
699:America/Mendoza 809:America/Montreal 789:America/Montserrat 809:America/Nassau
789:America/Port_of_Spain 796:America/Porto_Acre 696:America/Rosario 808:America/Santa_Isabel
727:America/Shiprock 789:America/St_Barthelemy 789:America/St_Kitts 789:America/St_Lucia
789:America/St_Thomas 789:America/St_Vincent 789:America/Tortola 789:America/Virgin
1005:Antarctica/DumontDUrville 977:Antarctica/McMurdo 977:Antarctica/South_Pole 878:Antarctica/Syowa
948:Arctic/Longyearbyen 878:Asia/Aden 828:Asia/Ashkhabad 875:Asia/Bahrain 860:Asia/Calcutta
882:Asia/Chongqing 882:Asia/Chungking 841:Asia/Dacca 882:Asia/Harbin 936:Asia/Istanbul
893:Asia/Kashgar 858:Asia/Katmandu 878:Asia/Kuwait 864:Asia/Macao 843:Asia/Muscat
832:Asia/Phnom_Penh 897:Asia/Rangoon 848:Asia/Saigon 854:Asia/Tel_Aviv 889:Asia/Thimbu
866:Asia/Ujung_Pandang 892:Asia/Ulan_Bator 832:Asia/Vientiane 904:Atlantic/Faeroe
948:Atlantic/Jan_Mayen 672:Atlantic/St_Helena 919:Australia/ACT 919:Australia/Canberra
914:Australia/Currie 916:Australia/LHI 919:Australia/NSW 912:Australia/North
910:Australia/Queensland 909:Australia/South 914:Australia/Tasmania 917:Australia/Victoria
918:Australia/West 911:Australia/Yancowinna 796:Brazil/Acre 777:Brazil/DeNoronha 800:Brazil/East
762:Brazil/West 740:Canada/Atlantic 812:Canada/Central 809:Canada/Eastern 729:Canada/Mountain
803:Canada/Newfoundland 810:Canada/Pacific 794:Canada/Saskatchewan 811:Canada/Yukon
798:Chile/Continental 981:Chile/EasterIsland 741:Cuba 675:Egypt 933:Eire 920:Etc/GMT+0 920:Etc/GMT-0
920:Etc/GMT0 920:Etc/Greenwich 921:Etc/UCT 921:Etc/Universal 921:Etc/Zulu 941:Europe/Belfast
950:Europe/Bratislava 967:Europe/Busingen 941:Europe/Guernsey 941:Europe/Isle_of_Man
941:Europe/Jersey 926:Europe/Ljubljana 935:Europe/Mariehamn 868:Europe/Nicosia 926:Europe/Podgorica
952:Europe/San_Marino 926:Europe/Sarajevo 926:Europe/Skopje 931:Europe/Tiraspol 967:Europe/Vaduz
952:Europe/Vatican 926:Europe/Zagreb 941:GB 941:GB-Eire 920:GMT+0 920:GMT-0 920:GMT0 920:Greenwich
849:Hongkong 906:Iceland 685:Indian/Antananarivo 685:Indian/Comoro 685:Indian/Mayotte 888:Iran
854:Israel 753:Jamaica 890:Japan 994:Kwajalein 688:Libya 808:Mexico/BajaNorte 765:Mexico/BajaSur
769:Mexico/General 977:NZ 979:NZ-CHAT 727:Navajo 882:PRC 991:Pacific/Enderbury 990:Pacific/Johnston
1001:Pacific/Midway 1004:Pacific/Ponape 989:Pacific/Saipan 1001:Pacific/Samoa 980:Pacific/Truk
980:Pacific/Yap 965:Poland 940:Portugal 885:ROC 881:ROK 883:Singapore 936:Turkey 921:UCT
692:US/Alaska 691:US/Aleutian 786:US/Arizona 720:US/Central 743:US/East-Indiana 774:US/Eastern
990:US/Hawaii 744:US/Indiana-Starke 728:US/Michigan 727:US/Mountain 759:US/Pacific 1001:US/Samoa
921:Universal 947:W-SU 921:Zulu
`
